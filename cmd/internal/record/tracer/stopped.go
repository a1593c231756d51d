//go:build linux

package tracer

import (
	"errors"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
)

// stopTime bounds how long Registers waits for the stop of a thread: one that sleeps uninterruptibly does not
// stop.
const stopTime = 50 * time.Millisecond

var (
	errMoved  = errors.New("it has gone on")
	errNoStop = errors.New("it did not stop in time")
)

// Registers stops a thread to read its registers, and lets it go on. A signal that comes meanwhile is
// delivered then. The thread must wait in a call that the kernel restarts; same is called immediately before
// the stop and reports whether it still does. If this process is killed, the thread goes on.
//
// Registers does not wait for the stop by wait(2), and so never takes it from the kernel, which delivers the
// signal of a stop to the thread if this process ends.
func Registers(tid int, until time.Time, same func() bool) (regs unwind.Registers, err error) {
	if end := time.Now().Add(stopTime); end.Before(until) {
		until = end
	}
	type result struct {
		regs unwind.Registers
		err  error
	}
	done := make(chan result, 1)
	go apart(func() {
		var r result
		r.err = registersOf(tid, until, same, &r.regs)
		done <- r
	})
	select {
	case r := <-done:
		return r.regs, r.err
	case <-time.After(time.Until(until) + stopTime): // the process executes a program, and takes long
		return regs, errNoStop
	}
}

// apart calls f in a thread that ends thereafter. Then the kernel detaches it from each thread that it has
// attached to, also from one that has not stopped, or has ended.
func apart(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() { // this thread does not end
		done := make(chan struct{})
		go func() { defer close(done); apart(f) }()
		<-done
		runtime.UnlockOSThread()
		return
	}
	f()
}

func registersOf(tid int, until time.Time, same func() bool, regs *unwind.Registers) error {
	if err := seize(tid, 0); err != nil {
		return err
	}
	if !same() || time.Now().After(until) {
		return errMoved
	}
	if err := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil {
		return err
	}
	for pause := 20 * time.Microsecond; !readRegisters(tid, regs); pause = min(2*pause, time.Millisecond) {
		if time.Now().After(until) || unix.Kill(tid, 0) != nil {
			return errNoStop
		}
		time.Sleep(pause)
	}
	var si siginfo
	sig := syscall.Signal(0)
	if signalInfo(tid, &si) == nil && si.code>>8 != unix.PTRACE_EVENT_STOP {
		sig = syscall.Signal(si.signo)
	}
	restartCall(tid) // it has entered another call just before the stop
	return ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig))
}
