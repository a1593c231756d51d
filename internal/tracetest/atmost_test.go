package tracetest

import (
	"testing"
	"time"
)

// errors counts failures.
type errors struct {
	testing.TB
	n int
}

func (e *errors) Helper() {}

func (e *errors) Errorf(string, ...any) { e.n++ }

// AtMost fails for what is too much every time, after three measurements at least, and accepts
// what is little enough once.
func TestAtMost(t *testing.T) {
	for _, tt := range []struct {
		name     string
		patience time.Duration
		from     int // the first measurement that is little enough
		fails    bool
	}{
		{"at once", 0, 1, false},
		{"the third time", 0, 3, false},
		{"late", time.Hour, 30, false},
		{"never", 0, 1 << 30, true},
		{"never, with patience", 20 * time.Millisecond, 1 << 30, true},
	} {
		n, e := 0, &errors{}
		atMost(e, 2, func() float64 {
			if n++; n >= tt.from {
				return 2
			}
			return 2.01
		}, tt.patience, time.Millisecond)
		if failed := e.n > 0; failed != tt.fails || n < min(3, tt.from) {
			t.Errorf("%s: failed %v after %d measurements", tt.name, failed, n)
		}
	}
}
