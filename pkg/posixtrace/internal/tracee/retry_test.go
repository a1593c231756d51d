package tracee

import "testing"

// Each pause before a retry is twice as long as the one before, up to a minute.
func TestRetryBacksOff(t *testing.T) {
	var m misses
	for i, seconds := range []float64{1, 2, 4, 8, 16, 32, 60, 60} {
		if m.next(); m.pause.Seconds() != seconds {
			t.Errorf("pause %d is %v, want %vs", i, m.pause, seconds)
		}
	}
}
