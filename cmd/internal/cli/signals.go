//go:build linux

// Signals: forwards them to a command, and stops or kills this process by one.

package cli

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

// AlwaysForwarded are always forwarded to the command. TerminalForwarded are forwarded
// unless this process is in the foreground of its terminal: then the terminal sends them to
// the whole process group, and the command must not get them twice.
var (
	AlwaysForwarded   = []syscall.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}
	TerminalForwarded = []syscall.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH}
)

// Forwarder forwards signals to a command.
type Forwarder struct {
	C    chan os.Signal
	done chan struct{}
	wg   sync.WaitGroup
}

// NewForwarder starts to catch signals. Signals that were ignored when this process started
// stay ignored, also in the command.
func NewForwarder() *Forwarder {
	f := &Forwarder{C: make(chan os.Signal, 64), done: make(chan struct{})}
	for _, list := range [][]syscall.Signal{AlwaysForwarded, TerminalForwarded} {
		for _, sig := range list {
			if !Ignored(sig) {
				signal.Notify(f.C, sig)
			}
		}
	}
	return f
}

// Forward delivers the signals caught so far and all later ones.
func (f *Forwarder) Forward(deliver func(syscall.Signal)) {
	f.wg.Go(func() {
		for {
			select {
			case s := <-f.C:
				deliver(s.(syscall.Signal))
			case <-f.done:
				return
			}
		}
	})
}

// PassOn sends sig to a command in our process group, unless the terminal has sent it to
// the whole group.
func PassOn(sig syscall.Signal, send func(syscall.Signal)) {
	for _, s := range TerminalForwarded {
		if sig == s && inForeground() {
			if sig == unix.SIGTSTP {
				StopSelf(sig)
			}
			return
		}
	}
	send(sig)
	if sig == unix.SIGTSTP {
		StopSelf(sig)
	}
}

// Stop ends the forwarding. The signals stay caught: a signal after the end of the command
// must not kill this process before the log is complete.
func (f *Forwarder) Stop() {
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
	return Foreground(fd)
}

// sigaction is the kernel's struct sigaction with spare room; its first word is the
// handler.
type sigaction [8]uint64

const sigIgnore = 1 // SIG_IGN

func rtSigaction(sig syscall.Signal, new, old *sigaction) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// SetDefault sets the default action of a signal without the Go runtime.
func SetDefault(sig syscall.Signal) {
	var def sigaction
	rtSigaction(sig, &def, nil)
}

// Ignored reports whether a signal is ignored.
func Ignored(sig syscall.Signal) bool {
	var old sigaction
	rtSigaction(sig, nil, &old)
	return *(*uintptr)(unsafe.Pointer(&old)) == sigIgnore
}

// StopSelf stops this process by the default action of sig. It returns when the process
// is continued, or at once if no process could continue it.
func StopSelf(sig syscall.Signal) {
	var old, def sigaction
	rtSigaction(sig, &def, &old)
	raise(sig)
	rtSigaction(sig, &old, nil)
}

// raise sends sig to this thread with sig unblocked. It returns if the process survives.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set := Set(sig)
	unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil)
	unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
}

// Set returns the signal set that contains sig alone.
func Set(sig syscall.Signal) (set unix.Sigset_t) {
	bits := uint(unsafe.Sizeof(set.Val[0]) * 8)
	n := uint(sig) - 1
	set.Val[n/bits] |= 1 << (n % bits)
	return set
}

// DieBy kills this process by the signal that killed the command, without a second core
// file. It sets the default action behind the Go runtime, whose handlers would end the
// process otherwise.
func DieBy(sig syscall.Signal) {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &lim) == nil {
		lim.Cur = 0
		unix.Setrlimit(unix.RLIMIT_CORE, &lim)
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // core limits do not apply to a core pattern that is a pipe
	SetDefault(sig)
	raise(sig)
	// A default action does not kill the init process of a container.
	time.Sleep(10 * time.Millisecond)
	os.Exit(128 + int(sig))
}

// Foreground reports whether this process is in the foreground of the terminal.
func Foreground(tty int) bool {
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
