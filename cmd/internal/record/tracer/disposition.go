//go:build linux

package tracer

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wake is the signal that interrupts the wait of the tracer's thread.
const wake = unix.SIGUSR1

// action is at least as large as the kernel's struct sigaction, which starts with the
// handler and the flags.
type action [8]uint64

const (
	sigIgnore     = 1 // SIG_IGN
	saRestart     = 0x10000000
	saNoChildStop = 0x1
)

func setAction(sig syscall.Signal, new, old *action) error {
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errnoOf(no)
}

// ignoreSignals makes this process ignore every signal except faults and the signals that the
// runtime and the tracer use. Ending on a signal would kill the command too: systemd, the end
// of a container, or a kill by name signals all processes, and the command must react in its
// own way. A tracer ends when its socket is closed and its traced processes have ended.
func ignoreSignals() {
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP: // cannot be ignored
		case unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS: // faults
		case unix.SIGURG, 33: // the runtime's
		case unix.SIGCHLD, wake:
		default:
			setAction(sig, &action{0: sigIgnore}, nil)
		}
	}
}

const lastSignal = 64

// interruptible makes the signal wake interrupt a wait of this thread. It clears SA_RESTART,
// which the runtime sets, and the signal mask, which may come from the caller of ptrace-run.
func interruptible() {
	signal.Notify(make(chan os.Signal, 1), wake)
	var a action
	if setAction(wake, nil, &a) == nil {
		a[1] &^= saRestart
		setAction(wake, &a, nil)
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
}

// ignoreChildStops keeps the kernel from sending SIGCHLD for every stop of a traced thread.
// The tracer waits for stops anyway, and running the signal handler, perhaps on another
// thread, would cost more than the stop.
func ignoreChildStops() {
	setAction(unix.SIGCHLD, &action{1: saNoChildStop}, nil)
}
