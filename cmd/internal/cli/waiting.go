package cli

import (
	"os"
	"syscall"
	"time"
)

// patience is how long a start may take after a signal that ends it.
const patience = time.Second

// Waiting calls f, which takes no time as a rule, while c catches signals for later. f may wait for another
// process without end, for example for one that is stopped and has a lock. If it goes on to wait after a
// signal that ends a process, Waiting calls discard and dies by that signal.
func Waiting(c chan os.Signal, f, discard func()) {
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		var caught []os.Signal
		var end <-chan time.Time
		var by syscall.Signal
		for {
			select {
			case s := <-c:
				caught = append(caught, s)
				if n, ok := s.(syscall.Signal); ok && end == nil && ends(n) {
					end, by = time.After(patience), n
				}
			case <-end:
				discard()
				DieBy(by)
			case <-done:
				for _, s := range caught {
					select {
					case c <- s:
					default: // as when signals come faster than they are read
					}
				}
				return
			}
		}
	}()
	f()
	close(done)
	<-left
}

func ends(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT
}
