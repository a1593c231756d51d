package command

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The signals that are passed on to the command. The first group always is. The
// second is passed on unless this process is in the foreground of its terminal:
// the terminal then sends them to the whole process group, and the command, which
// is in it, must not get them twice.
var (
	alwaysForwarded   = []syscall.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}
	terminalForwarded = []syscall.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH}
)

// forwarder passes signals on to a command.
type forwarder struct {
	ch   chan os.Signal
	done chan struct{}
	wg   sync.WaitGroup
}

// newForwarder catches the signals from now on. Those that this process was
// started to ignore stay ignored, by the command too.
func newForwarder() *forwarder {
	f := &forwarder{ch: make(chan os.Signal, 64), done: make(chan struct{})}
	for _, list := range [][]syscall.Signal{alwaysForwarded, terminalForwarded} {
		for _, sig := range list {
			if !ignored(sig) {
				signal.Notify(f.ch, sig)
			}
		}
	}
	return f
}

// forward hands over what was caught and what comes.
func (f *forwarder) forward(deliver func(syscall.Signal)) {
	f.wg.Go(func() {
		for {
			select {
			case s := <-f.ch:
				deliver(s.(syscall.Signal))
			case <-f.done:
				return
			}
		}
	})
}

// passOn sends a signal on to a command in our process group, unless the terminal
// has sent it to all of the group.
func passOn(sig syscall.Signal, send func(syscall.Signal)) {
	for _, s := range terminalForwarded {
		if sig == s && inForeground() {
			if sig == unix.SIGTSTP {
				stopSelf(sig)
			}
			return
		}
	}
	send(sig)
	if sig == unix.SIGTSTP {
		stopSelf(sig)
	}
}

// stop ends forwarding. The signals stay caught: what comes between the
// command's end and ours must not end us before the log is complete.
func (f *forwarder) stop() {
	close(f.done)
	f.wg.Wait()
}

// inForeground reports whether this process is in the foreground process group
// of its terminal.
func inForeground() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return foregroundOf(fd)
}

// sigaction is struct sigaction of the kernel with room to spare; its first word
// is the handler.
type sigaction [8]uint64

const sigIgnore = 1 // SIG_IGN

func rtSigaction(sig syscall.Signal, new, old *sigaction) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// setDefault sets the default action of a signal, unknown to the Go runtime.
func setDefault(sig syscall.Signal) {
	var def sigaction
	rtSigaction(sig, &def, nil)
}

// ignored reports whether a signal is ignored.
func ignored(sig syscall.Signal) bool {
	var old sigaction
	rtSigaction(sig, nil, &old)
	return *(*uintptr)(unsafe.Pointer(&old)) == sigIgnore
}

// stopSelf stops this process as sig would if nobody caught it. It returns when
// the process is continued, or at once if nobody could continue it.
func stopSelf(sig syscall.Signal) {
	var old, def sigaction
	rtSigaction(sig, &def, &old)
	raise(sig)
	rtSigaction(sig, &old, nil)
}

// raise sends this thread a signal that nothing holds back, and returns if that
// let it.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set := signalSet(sig)
	unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil)
	unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
}

// signalSet is the set of one signal.
func signalSet(sig syscall.Signal) (set unix.Sigset_t) {
	bits := uint(unsafe.Sizeof(set.Val[0]) * 8)
	n := uint(sig) - 1
	set.Val[n/bits] |= 1 << (n % bits)
	return set
}

// dieBy ends this process by a signal, as the command ended, and leaves no second
// core file. The Go runtime has handlers that would end it otherwise, so the
// default action is set behind its back.
func dieBy(sig syscall.Signal) {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &lim) == nil {
		lim.Cur = 0
		unix.Setrlimit(unix.RLIMIT_CORE, &lim)
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // a core pattern that is a pipe knows no limit
	setDefault(sig)
	raise(sig)
	// The first process of a container is not killed by a default action.
	time.Sleep(10 * time.Millisecond)
	os.Exit(128 + int(sig))
}

// foregroundOf reports whether this process is in the foreground of this terminal.
func foregroundOf(tty int) bool {
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
