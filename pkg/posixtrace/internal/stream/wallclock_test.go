package stream

import (
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A process that loses the processor while it creates a stream does not set the stream's clock wrong:
// the times of events are those of the wall clock, and so comparable with those of other streams.
func TestPauseDuringCreationLeavesClockRight(t *testing.T) {
	const pause = 100 * time.Millisecond
	defer func() { sys.WallClock = time.Now }()
	for at := range 3 {
		for _, before := range []bool{true, false} {
			n := 0
			sys.WallClock = func() time.Time {
				n++
				if n != at+1 {
					return time.Now()
				}
				if before {
					time.Sleep(pause)
				}
				now := time.Now()
				if !before {
					time.Sleep(pause)
				}
				return now
			}
			m := newMem(t, 16<<10, Loop)
			from := time.Now()
			_, nanos := m.NanosNow()
			to := time.Now()
			if off := max(from.UnixNano()-nanos, nanos-to.UnixNano()); off > int64(pause/4) {
				t.Errorf("a pause at reading %d, before it %v: the clock of the stream is %v off", at, before, time.Duration(off))
			}
			if c := m.Created(); c.After(from) {
				t.Errorf("the stream was created at %v, after %v", c, from)
			}
		}
	}
}
