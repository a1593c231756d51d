package stream

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

// Clock anchors in the header convert a stream's ticks to time, each a tick and the time that
// belongs to it (chunk.Clock). Once two anchors are set, the line between them never changes. Every
// other anchor is measured. The anchor after it lies ahead on the line, by an eighth of the time
// since the first, but by no more than maxLead. So every reader computes the same time for an event.

// maxLead bounds how long a rate is trusted, in nanoseconds: CLOCK_MONOTONIC is
// slewed by up to 500 ppm.
const maxLead = 64e9

func (m *Mem) addAnchor(k chunk.ClockAnchor) {
	n := m.h.nanchors.Load()
	if n >= maxAnchors {
		n = uint32(m.thin())
	}
	m.h.anchors[n][0].Store(k.Tick)
	m.h.anchors[n][1].Store(uint64(k.Nanos))
	m.h.nanchors.Store(n + 1)
}

// thin drops every other clock anchor of the older half. The line hardly moves: rates
// differ by parts in a million. It returns how many are left.
func (m *Mem) thin() (left int) {
	n := int(min(m.h.nanchors.Load(), maxAnchors))
	w := 1
	for i := 1; i < n; i++ {
		if i < n/2 && i%2 == 1 {
			continue
		}
		m.h.anchors[w][0].Store(m.h.anchors[i][0].Load())
		m.h.anchors[w][1].Store(m.h.anchors[i][1].Load())
		w++
	}
	m.h.nanchors.Store(uint32(w))
	return w
}

// Anchors returns the stream's clock anchors. A clock of CLOCK_MONOTONIC has one: its ticks are
// nanoseconds.
func (m *Mem) Anchors() []chunk.ClockAnchor {
	n := int(min(m.h.nanchors.Load(), maxAnchors))
	k := make([]chunk.ClockAnchor, 0, n+1)
	for i := range n {
		k = append(k, chunk.ClockAnchor{Tick: m.h.anchors[i][0].Load(), Nanos: int64(m.h.anchors[i][1].Load())})
	}
	return k
}

// FreshClock returns a clock that holds for ticks up to now. The caller holds
// the stream's lock, because it may have to measure a clock anchor.
func (m *Mem) FreshClock() *chunk.Clock {
	k := m.Anchors()
	if m.Clock == ClockTicks && len(k) > 0 {
		k = m.extend(k)
	}
	var c chunk.Clock
	for _, k := range k {
		c.Add(k)
	}
	return &c
}

// OwnClock returns a fresh clock to a caller that does not hold the lock. It does not store the anchor that
// it measures, so another reader may compute slightly different times for the latest events.
func (m *Mem) OwnClock() *chunk.Clock {
	tick, mono := m.pair()
	var c chunk.Clock
	var last chunk.ClockAnchor
	anchors := m.Anchors()
	for _, k := range anchors {
		if c.Add(k) { // the lock's holder may be moving them
			last = k
		}
	}
	if m.Clock == ClockTicks && len(anchors) > 0 && tick > last.Tick {
		c.Add(chunk.ClockAnchor{Tick: tick, Nanos: max(anchors[0].Nanos+int64(mono-m.h.mono), last.Nanos+1)})
	}
	return &c
}

func (m *Mem) extend(k []chunk.ClockAnchor) []chunk.ClockAnchor {
	tick, mono := m.pair()
	m.raiseHorizon(tick)
	return m.extendTo(k, tick, mono)
}

// extendTo extends the clock by the readings of the two clocks.
func (m *Mem) extendTo(k []chunk.ClockAnchor, tick, mono uint64) []chunk.ClockAnchor {
	first, last := k[0], k[len(k)-1]
	if tick <= last.Tick {
		return k
	}
	real := first.Nanos + int64(mono-m.h.mono)
	now := chunk.ClockAnchor{Tick: tick, Nanos: max(real, last.Nanos+1)}
	m.addAnchor(now)
	// Extend the line ahead at once: a reader that uses it must not find it changed later.
	rate, longest := rateAhead(k, chunk.ClockAnchor{Tick: tick, Nanos: real})
	if lead := min(float64(tick-first.Tick)/8, longest/rate); lead >= 1 {
		gain := lead * rate
		if ahead := float64(now.Nanos - real); ahead > 1 {
			gain = max(gain/2, gain-ahead) // let the clock catch up
		}
		m.addAnchor(chunk.ClockAnchor{Tick: tick + uint64(lead), Nanos: now.Nanos + int64(gain)})
	}
	return m.Anchors()
}

// rateAhead returns how many nanoseconds a tick takes from now on, and for how many nanoseconds to
// trust that rate. The rate is the one since the last measurement, the clock anchor before the last.
// If it differs from the rate predicted then, the counter or the clock has jumped, as when a machine
// sleeps; the prediction still holds, unless the jump repeats.
func rateAhead(k []chunk.ClockAnchor, now chunk.ClockAnchor) (rate, longest float64) {
	between := func(a, b chunk.ClockAnchor) float64 { return float64(b.Nanos-a.Nanos) / float64(b.Tick-a.Tick) }
	n := len(k)
	if n < 3 || now.Nanos <= k[n-2].Nanos {
		switch rate = between(k[0], now); {
		case n >= 3:
			rate = max(between(k[n-2], k[n-1]), 1e-3)
		case rate <= 0:
			rate = 1
		}
		return rate, maxLead / 16
	}
	rate = between(k[n-2], now)
	predicted := between(k[n-2], k[n-1])
	if !differ(rate, predicted) {
		return rate, maxLead
	}
	if n >= 5 && differ(between(k[n-4], k[n-2]), predicted) {
		return rate, maxLead / 16
	}
	return predicted, maxLead / 16
}

// differ reports whether two rates, measured at different times, cannot be the same: clocks are
// slewed by parts in a thousand at most, and short times are not measured exactly.
func differ(a, b float64) bool { return a > 1.05*b || b > 1.05*a }

// TickAt returns the tick of a time near now, for events whose time another clock has measured.
func (m *Mem) TickAt(nanos int64) uint64 {
	k := m.Anchors()
	tick, mono := m.pair()
	if len(k) == 0 {
		return tick
	}
	now := k[0].Nanos + int64(mono-m.h.mono)
	ahead := float64(nanos - now)
	if n := len(k); m.Clock == ClockTicks && n > 1 && k[n-1].Nanos > k[n-2].Nanos {
		ahead *= float64(k[n-1].Tick-k[n-2].Tick) / float64(k[n-1].Nanos-k[n-2].Nanos)
	} else if m.Clock == ClockTicks && tick > k[0].Tick && now > k[0].Nanos {
		ahead *= float64(tick-k[0].Tick) / float64(now-k[0].Nanos)
	}
	return uint64(max(int64(tick)+int64(ahead), 1))
}

// NanosNow is the stream's own time now.
func (m *Mem) NanosNow() (tick uint64, nanos int64) {
	tick, mono := m.pair()
	return tick, int64(m.h.anchors[0][1].Load()) + int64(mono-m.h.mono)
}
