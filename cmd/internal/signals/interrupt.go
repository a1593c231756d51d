package signals

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// CatchInterrupts returns a context that SIGINT, SIGTERM or SIGHUP cancels, so that the
// command still shows the events it took from a stream and completes its output and cursor.
// A second signal kills the process. The function returns the signal, or nil.
func CatchInterrupts(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !Ignored(sig) {
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
