package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupts are the signals that ask a command to end.
var interrupts = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// Outlast makes this process read a pipe to its end, whatever asks the process to end: a signal to a
// whole pipeline also ends the writer of the pipe, whose last output comes after the signal.
func Outlast() { signal.Ignore(append(interrupts, syscall.SIGQUIT)...) }

// OutlastFirst lets the process outlast one signal. A second one kills it.
func OutlastFirst() {
	ch := make(chan os.Signal, 1)
	for _, sig := range interrupts {
		if !Ignored(sig.(syscall.Signal)) {
			signal.Notify(ch, sig)
		}
	}
	go func() {
		<-ch
		signal.Reset(interrupts...)
	}()
}

// CatchInterrupts returns a context that SIGINT, SIGTERM or SIGHUP cancels, so that the
// command still shows the events it took from a stream and completes its output and cursor.
// A second signal kills the process. The function returns the signal, or nil.
func CatchInterrupts(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 1)
	for _, sig := range interrupts {
		if !Ignored(sig.(syscall.Signal)) {
			signal.Notify(ch, sig)
		}
	}
	var got atomic.Pointer[os.Signal]
	go func() {
		sig := <-ch
		signal.Reset()
		got.Store(&sig)
		cancel()
	}()
	return ctx, func() os.Signal {
		if sig := got.Load(); sig != nil {
			return *sig
		}
		return nil
	}
}
