package tracer

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wake is the signal that makes the tracer's thread look up from its waiting.
const wake = unix.SIGUSR1

// action is struct sigaction of the kernel with room to spare: handler, flags, and
// more.
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

// deaf makes this process ignore every signal but those of its own faults, of the runtime and
// of its waiting. A tracer that obeyed one would take the command along: systemd, a
// container's end or a kill by name asks all processes to end, and the command is to do
// that in its own way. What ends a tracer is the end of its socket and of what it traces.
func deaf() {
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP: // nothing can be done about these
		case unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS: // faults
		case unix.SIGURG, 33: // the runtime's
		case unix.SIGCHLD, wake:
		default:
			setAction(sig, &action{0: sigIgnore}, nil)
		}
	}
}

const lastSignal = 64

// interruptible makes the signal wake interrupt a wait of this thread, which the runtime would
// have begin anew, and which would not be interrupted if the caller of ptrace-run had it blocked.
func interruptible() {
	signal.Notify(make(chan os.Signal, 1), wake)
	var a action
	if setAction(wake, nil, &a) == nil {
		a[1] &^= saRestart
		setAction(wake, &a, nil)
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
}

// quiet keeps the kernel from sending a signal for every stop of a traced thread.
// There is always one that waits for them, and a handler, perhaps on another thread, would
// cost more than the stop.
func quiet() {
	setAction(unix.SIGCHLD, &action{1: saNoChildStop}, nil)
}
