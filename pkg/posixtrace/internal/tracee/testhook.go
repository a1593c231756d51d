package tracee

import (
	"sync"
	"time"
)

// Hooks for the tests of package posixtrace. No production code calls them.

// Mutex returns the mutex of the process.
func (t *Process) Mutex() *sync.Mutex { return &t.mu }

// SetRetryMin changes the pause before the first retry of a failed connection. No trace point may run
// meanwhile.
func SetRetryMin(d time.Duration) { retryMin = d }

// RetrySoon makes the retry of failed connections due, with retryMin as the next pause. It returns the pause
// before. No other trace point may run meanwhile.
func (t *Process) RetrySoon() (pause time.Duration) {
	pause, t.missed.pause = t.missed.pause, 0
	if old := t.Table.Load(); old != nil {
		n := *old
		n.again = min(n.again, 1)
		t.Table.Store(&n)
	}
	return pause
}
