package stream

import (
	"math/rand/v2"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The counter and the kernel's clock may diverge: one stops while the machine
// sleeps, jumps when it wakes or moves to another machine, changes its rate, or is set back.
// Times never run backwards, the time of a tick never changes, and after a while times are
// right again.
func TestClockJumpsMoveNoTime(t *testing.T) {
	const rate = 3 // ticks a nanosecond
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		m := newMem(t, 16<<10, Loop)
		m.Clock = ClockTicks
		first := m.Anchors()[0]
		tick, mono := first.Tick, m.h.mono
		type dated struct {
			tick  uint64
			nanos int64
		}
		var all []dated
		jumps := 0
		step := func(d uint64) {
			tick, mono = tick+rate*d, mono+d
		}
		for range 60 {
			step(uint64(1 + rng.IntN(2e9)))
			if jumps < 5 {
				jumps++
				switch rng.IntN(12) {
				case 0: // the counter ran while the clock did not run
					tick += rng.Uint64N(1e14)
				case 1: // the clock ran while the counter did not run
					mono += rng.Uint64N(1e14)
				case 2: // the counter was set back
					tick -= min(tick-1, rng.Uint64N(1e11))
				default:
					jumps--
				}
			}
			var c chunk.Clock
			for _, k := range m.extendTo(m.Anchors(), tick, mono) {
				if !c.Add(k) {
					t.Fatalf("seed %d: the clock anchors do not rise", seed)
				}
			}
			checkMonotone(t, &c)
			for _, x := range all {
				if n := c.Nanos(x.tick); n != x.nanos {
					t.Fatalf("seed %d: tick %d was %d, is %d", seed, x.tick, x.nanos, n)
				}
			}
			if m.h.nanchors.Load() > maxAnchors/2-4 {
				break
			}
			for range 3 {
				if tick > first.Tick {
					x := first.Tick + 1 + rng.Uint64N(tick-first.Tick)
					all = append(all, dated{x, c.Nanos(x)})
				}
			}
		}
	}
}

// Without a jump the clock is right, and soon after one.
func TestClockRecoversFromJump(t *testing.T) {
	const rate = 3
	m := newMem(t, 16<<10, Loop)
	m.Clock = ClockTicks
	first := m.Anchors()[0]
	tick, mono := first.Tick, m.h.mono
	off := func(d uint64) int64 {
		tick, mono = tick+rate*d, mono+d
		var c chunk.Clock
		for _, k := range m.extendTo(m.Anchors(), tick, mono) {
			c.Add(k)
		}
		return c.Nanos(tick) - (first.Nanos + int64(mono-m.h.mono))
	}
	for range 60 {
		if d := off(1e9); d < -1000 || d > 1000 {
			t.Fatalf("%d ns off", d)
		}
	}
	// Asleep for an hour: the counter ran, the clock did not run.
	tick += rate * 3600e9
	worst := int64(0)
	for range 20 * 60 {
		d := off(1e9)
		worst = max(worst, max(d, -d))
	}
	if d := off(1e9); d < -2e9 || d > 2e9 || worst > 70e9 {
		t.Errorf("%d ns off 20 minutes after the jump, %d at the most", d, worst)
	} else {
		t.Logf("%d ns off 20 minutes after the jump, %d at the most", d, worst)
	}
}

// If the counter jumps, each event is read once, and times never run backwards.
func TestEventsKeepOrderAcrossJumps(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := newMem(t, 1<<20, UntilFull)
		w := newWriter(t, m, 1)
		m.Start(w, Event{})
		now := m.Now()
		const events = 2000
		var tick = now / 2
		for i := range events {
			switch rng.IntN(50) {
			case 0:
				tick -= min(tick-1, rng.Uint64N(1e12))
			case 1:
				tick = min(tick+rng.Uint64N(1e12), now-1)
			default:
				tick = min(tick+rng.Uint64N(5000), now-1)
			}
			if !w.Record(0, &Event{ID: event.FirstUser, Tick: tick, PID: 1, TID: 1}, []byte{byte(i), byte(i >> 8)}) {
				t.Fatal("full")
			}
		}
		seen := make([]bool, events)
		n := 0
		r := m.NewReader()
		for _, rec := range readAll(t, r) {
			if rec.Event != event.FirstUser {
				continue
			}
			i := int(rec.Data[0]) | int(rec.Data[1])<<8
			if seen[i] {
				t.Fatalf("seed %d: event %d twice", seed, i)
			}
			seen[i] = true
			n++
		}
		if n != events {
			t.Fatalf("seed %d: %d of %d events", seed, n, events)
		}
	}
}
