package signals

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// CatchInterrupts returns a context that is done when the user or the system wants
// us to stop, so that what was taken from a stream is still shown, and its form and
// cursor are completed. The second time it kills. The function returns the signal,
// nil if there was none.
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
