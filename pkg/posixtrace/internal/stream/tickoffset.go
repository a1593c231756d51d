package stream

import (
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The firmware of many machines sets the processor's counter back to zero when they wake from
// sleep, and the kernel continues to use it. The ticks of a stream do not go back: they are ahead of
// the counter by the tick offset, a word of the header. A process that finds the counter far behind a tick that
// the stream has seen changes the offset, so that ticks continue where they would be.

// farBehind is the lag, in ticks, from which on the counter counts as set back: the counters
// of two processors never disagree by a second.
const farBehind = 1 << 32

// now reads the stream's clock.
func (m *Mem) now() uint64 {
	if m.Clock != ClockTicks {
		return sys.Monotonic()
	}
	tick := sys.Ticks() + m.h.tickOffset.Load()
	if h := m.h.horizon.Load(); h > tick && h-tick > farBehind {
		return m.resetTickOffset()
	}
	return tick
}

// pair reads the stream's clock and CLOCK_MONOTONIC at one time.
func (m *Mem) pair() (tick, mono uint64) {
	m.now() // changes the offset if the counter was set back
	if m.Clock != ClockTicks {
		n := sys.Monotonic()
		return n, n
	}
	tick, mono = sys.Pair()
	return tick + m.h.tickOffset.Load(), mono
}

// behind returns the tick of an event at now that would be earlier than the one before it in its
// chunk, at last. own says that the event has a time of its own, which may be any age.
func (w *Writer) behind(now, last uint64, own bool) uint64 {
	if own || !w.ticks || last-now <= farBehind {
		return last
	}
	w.m.raiseHorizon(last)
	return max(last, w.m.now())
}

// rateTime is how long resetTickOffset measures the rate of the counter if the stream does not know it.
const rateTime = 200 * time.Microsecond

// casTries bounds how often other processes may be faster.
const casTries = 100

// resetTickOffset changes the offset because the counter was set back, and returns the stream's time.
func (m *Mem) resetTickOffset() (tick uint64) {
	for range casTries {
		offset, horizon := m.h.tickOffset.Load(), m.h.horizon.Load()
		count, mono := sys.Pair()
		if tick = count + offset; tick >= horizon || horizon-tick <= farBehind {
			return tick // another was faster
		}
		if !m.possible(horizon, mono) {
			m.lowerHorizon(horizon, tick)
			continue
		}
		if tick = max(horizon+1, m.tickOf(mono)); m.h.tickOffset.CompareAndSwap(offset, tick-count) {
			return tick
		}
	}
	return tick
}

// isFuture reports whether tick is so far ahead of the stream's clock that the file must be damaged.
// If the counter was set back instead, isFuture lets the stream's clock go on from tick.
func (m *Mem) isFuture(tick uint64) bool {
	now := m.now()
	if tick <= now || tick-now <= farBehind {
		return false
	}
	if m.Clock != ClockTicks || !m.possible(tick, sys.Monotonic()) {
		return true
	}
	m.raiseHorizon(tick)
	return false
}

// possible reports whether a counter that was never set back may be at tick by now, a time of
// CLOCK_MONOTONIC. The anchors may be old, and the rate is that of a short time.
func (m *Mem) possible(tick, mono uint64) bool {
	want := m.tickOf(mono)
	if tick <= want || want == 0 {
		return true
	}
	since := uint64(0)
	if k := m.Anchors(); want > k[0].Tick {
		since = want - k[0].Tick
	}
	return tick-want <= farBehind+since/64
}

// tickOf returns the tick at a time of CLOCK_MONOTONIC according to the clock anchors, 0 if there
// are none.
func (m *Mem) tickOf(mono uint64) uint64 {
	k := m.Anchors()
	n := len(k)
	if n == 0 {
		return 0
	}
	from, rate := k[0], 0.0
	if n > 1 {
		from = k[n-2]
		if next := k[n-1]; next.Tick > from.Tick && next.Nanos > from.Nanos {
			rate = float64(next.Tick-from.Tick) / float64(next.Nanos-from.Nanos)
		}
	} else {
		t0, n0 := sys.Pair()
		t1, n1 := t0, n0
		for n1 < n0+uint64(rateTime) {
			t1, n1 = sys.Pair()
		}
		rate = float64(t1-t0) / float64(n1-n0)
	}
	gone := float64(int64(mono-m.h.mono) - (from.Nanos - k[0].Nanos))
	return from.Tick + uint64(max(gone, 0)*rate)
}
