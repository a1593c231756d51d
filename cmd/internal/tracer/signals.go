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
	saRestart     = 0x10000000
	saNoChildStop = 0x1
)

func setAction(sig syscall.Signal, new, old *action) error {
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errnoOf(no)
}

// interruptible makes the signal wake interrupt a wait, which the runtime would have
// begin anew.
func interruptible() {
	signal.Notify(make(chan os.Signal, 1), wake)
	var a action
	if setAction(wake, nil, &a) == nil {
		a[1] &^= saRestart
		setAction(wake, &a, nil)
	}
}

// quiet keeps the kernel from sending a signal for every stop of a traced thread.
// There is always one that waits for them, and a handler, perhaps on another thread, would
// cost more than the stop.
func quiet() {
	setAction(unix.SIGCHLD, &action{1: saNoChildStop}, nil)
}
