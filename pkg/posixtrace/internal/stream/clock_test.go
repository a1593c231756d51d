package stream

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// TestClockNeverChangesTimes computes the time of a tick again after later measurements.
func TestClockNeverChangesTimes(t *testing.T) {
	m := newMem(t, 16<<10, Loop)
	type dated struct {
		tick  uint64
		nanos int64
	}
	var all []dated
	rng := rand.New(rand.NewPCG(1, 1))
	base := m.Anchors()[0].Tick
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) && m.h.nanchors.Load() < maxAnchors-4; {
		now := m.Now()
		c := m.FreshClock()
		for range 3 {
			tick := base + rng.Uint64N(now-base) + 1
			all = append(all, dated{tick, c.Nanos(tick)})
		}
		from := time.Now().UnixNano()
		nanos := c.Nanos(m.Now())
		if d := max(from-nanos, nanos-time.Now().UnixNano()); d > int64(time.Second) {
			t.Fatalf("%v away from the wall clock", time.Duration(d))
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
	}
	c := m.FreshClock()
	for _, x := range all {
		if n := c.Nanos(x.tick); n != x.nanos {
			t.Fatalf("tick %d was %d, is %d", x.tick-base, x.nanos, n)
		}
	}
	checkMonotone(t, c)
	t.Logf("%d clock anchors, %d times", len(m.Anchors()), len(all))
}

func checkMonotone(t *testing.T, c *chunk.Clock) {
	t.Helper()
	k := c.Anchors()
	last := int64(0)
	for i := 1; i < len(k); i++ {
		step := max((k[i].Tick-k[i-1].Tick)/16, 1)
		for tick := k[i-1].Tick; tick <= k[i].Tick; tick += step {
			n := c.Nanos(tick)
			if n < last {
				t.Fatalf("time runs backwards at tick %d, clock anchor %d", tick, i)
			}
			last = n
		}
	}
}

// TestFullClockTableKeepsTimes fills the table of clock anchors: it makes room, and no time moves by
// more than the uncertainty of the measurements.
func TestFullClockTableKeepsTimes(t *testing.T) {
	m := newMem(t, 16<<10, Loop)
	rng := rand.New(rand.NewPCG(2, 2))
	k := m.Anchors()[0]
	m.h.nanchors.Store(1)
	for int(m.h.nanchors.Load()) < maxAnchors {
		d := uint64(1e9 + rng.IntN(1e9))
		k.Tick += d
		k.Nanos += int64(d)*2/5 + int64(rng.IntN(40))
		m.addAnchor(k)
	}
	var before chunk.Clock
	for _, k := range m.Anchors() {
		before.Add(k)
	}
	k.Tick, k.Nanos = k.Tick+1e9, k.Nanos+4e8
	m.addAnchor(k)
	if n := m.h.nanchors.Load(); n >= maxAnchors || n < maxAnchors/2 {
		t.Fatalf("%d clock anchors", n)
	}
	var after chunk.Clock
	for _, k := range m.Anchors() {
		if !after.Add(k) {
			t.Fatal("clock anchors do not rise")
		}
	}
	checkMonotone(t, &after)
	first := before.Anchors()[0].Tick
	for range 10000 {
		tick := first + rng.Uint64N(k.Tick-first-1e9)
		if d := after.Nanos(tick) - before.Nanos(tick); d < -50 || d > 50 {
			t.Fatalf("tick %d moved by %d ns", tick, d)
		}
	}
	// The younger half has not moved at all.
	half := before.Anchors()[maxAnchors/2].Tick
	for range 1000 {
		tick := half + rng.Uint64N(k.Tick-half-1e9)
		if after.Nanos(tick) != before.Nanos(tick) {
			t.Fatal("a young time has moved")
		}
	}
}
