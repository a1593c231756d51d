package stream

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"

// A scan reports events up to the tick at which it starts, so none may appear later with an earlier
// tick. A writer reads the clock before it sets the busy bit: after it, the clock would wait for the
// locked instruction, and cost as much again. The horizon keeps the two in order:
//
//	scan:    reads the clock, raises the horizon to it, looks at the control words
//	writer:  reads the clock, sets the busy bit, looks at the horizon
//
// Either the scan finds the chunk busy, and waits for the event, or the writer finds the horizon,
// and reads the clock again if its tick is not beyond. So the time of an event is that of its call,
// and beyond each horizon that was raised before its busy bit was set. A change of the filter and a
// start raise the horizon, too: what they allow is later than they are.
//
// Both sides need a total order of their exchange and the load behind it, which Go's atomic
// operations have (in C: seq_cst).

// raiseHorizon raises the horizon to tick: the stream's clock has come to it. Events that start from now
// on are later.
func (m *Mem) raiseHorizon(tick uint64) {
	for range casTries {
		h := m.h.horizon.Load()
		if tick <= h || m.h.horizon.CompareAndSwap(h, tick) {
			return
		}
	}
}

// afterHorizon returns the time now, for a writer that has set a busy bit: a tick beyond the horizon.
//
// The counters of two processors may differ by a little; ticks do not. A horizon that is further
// ahead was scribbled on: afterHorizon does not wait for the clock to pass it, so it costs a second
// reading of the clock for each event until then, and what it kept in order may be late.
func (m *Mem) afterHorizon() uint64 {
	tick := m.now()
	if m.Clock == ClockTicks {
		sys.Monotonic() // read in order: the state, loaded next, is not older than the tick
	}
	h := m.h.horizon.Load()
	switch {
	case h < tick:
	case h-tick < skew:
		return h + 1
	case h-tick > farBehind:
		m.lowerHorizon(h, tick)
	}
	return tick
}

// lowerHorizon replaces the horizon h, which the stream's clock cannot have reached.
func (m *Mem) lowerHorizon(h, tick uint64) {
	if m.h.horizon.CompareAndSwap(h, tick) {
		m.h.damage.Add(1)
	}
}
