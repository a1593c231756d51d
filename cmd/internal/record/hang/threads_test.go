//go:build linux

package hang

import (
	"testing"
	"time"
)

// The scheduler's clock of a thread that has moved is 0, or that of another processor. No time is better than
// such a one.
func TestElapsed(t *testing.T) {
	for _, tt := range []struct {
		at, now   float64
		age, want time.Duration
	}{
		{8000, 8043, time.Minute, 43 * time.Second},
		{8000, 8000, time.Minute, 0},
		{0, 8043, time.Hour, -1},                // cleared by the kernel
		{8000, 0, time.Hour, -1},                // that of this process
		{8000, 7999.9, time.Hour, -1},           // ahead
		{1, 8043, time.Minute, -1},              // it is not that old
		{8000, 8043, 0, 43 * time.Second},       // its age is not known
		{8000, 8043, 42500e6, 43 * time.Second}, // about
	} {
		if got := elapsed(tt.at, tt.now, tt.age); got != tt.want {
			t.Errorf("elapsed(%v, %v, %v) = %v, want %v", tt.at, tt.now, tt.age, got, tt.want)
		}
	}
}
