package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// clocks are the two kinds of clock that a stream can have.
func clocks() map[string]uint32 {
	kinds := map[string]uint32{"monotonic": ClockMonotonic}
	if sys.TrustTicks() {
		kinds["ticks"] = ClockTicks
	}
	return kinds
}

// TestEventsAreBeyondHorizon raises the horizon and looks at a chunk's control word, as a scan does. An
// event that this finds neither published nor under way has a later tick.
func TestEventsAreBeyondHorizon(t *testing.T) {
	for name, clock := range clocks() {
		t.Run(name, func(t *testing.T) {
			all, bad := 0, 0
			for more := lasting(0, func() bool { return all >= 100 }); more(); { // another stream when one is full
				n, b := lookWhileRecording(t, clock)
				all, bad = all+n, bad+b
			}
			if bad > 0 || all < 100 {
				t.Errorf("%d of %d events that came later have no later tick", bad, all)
			}
		})
	}
}

// lookWhileRecording looks at a stream while a writer fills it. It returns of how many events it
// has found that they came after a look, and how many of them have no later tick.
func lookWhileRecording(t *testing.T, clock uint32) (all, bad int) {
	m := newMem(t, 4<<20, UntilFull)
	m.Clock = clock
	w := newWriter(t, m, 1)
	m.change(Running, 0)
	var wg sync.WaitGroup
	var quit atomic.Bool
	wg.Go(func() {
		e := Event{ID: event.FirstUser, TID: 1}
		for !quit.Load() && w.Record(0, &e, nil) {
		}
	})
	type look struct {
		c    ctl
		tick uint64
	}
	looks := make([][]look, m.Chunks)
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) && m.State()&Running != 0; {
		tag := w.shard(0).tag.Load()
		i := int(tag & idxMask)
		if tag == noChunk {
			continue
		}
		tick := m.now()
		m.raiseHorizon(tick)
		if c := ctl(m.at(i).ctl.Load()); c.state() == owned && !c.busy() {
			looks[i] = append(looks[i], look{c, tick})
		}
	}
	quit.Store(true)
	wg.Wait()
	for i, looks := range looks {
		c := ctl(m.at(i).ctl.Load())
		var ticks []uint64
		walk := walker{b: m.bytes(i)[:c.off()], base: m.at(i).base.Load()}
		for tick, ok := walk.next(); ok; tick, ok = walk.next() {
			ticks = append(ticks, tick)
		}
		for _, l := range looks {
			if n := l.c.count(); l.c.gen() == c.gen() && n < len(ticks) {
				all++
				if ticks[n] <= l.tick {
					bad++
				}
			}
		}
	}
	return all, bad
}

// TestStartIsBeforeItsEvents starts and stops a stream while writers try to record.
func TestStartIsBeforeItsEvents(t *testing.T) {
	setPatience(t, 10*time.Second) // a late event stands behind its STOP
	m := newMem(t, 1<<20, Loop)
	c, w := newWriter(t, m, 1), newWriter(t, m, 2)
	var wg sync.WaitGroup
	var quit atomic.Bool
	for i := range 2 {
		wg.Go(func() {
			for !quit.Load() {
				w.Append(i, event.FirstUser, Who(1, uint32(i)), 0, sys.Ticks(), nil)
			}
		})
	}
	r := m.NewReader()
	var rec chunk.Record
	var horizons []uint64 // after each start
	running, overrun, events, outside := false, false, 0, 0
	window := time.Microsecond
	if tracetest.RaceEnabled {
		window = 20 * time.Microsecond // an event takes longer
	}
	for more := lasting(400*time.Millisecond, func() bool { return events >= 100 }); more(); {
		m.Start(c, Event{})
		horizons = append(horizons, m.h.horizon.Load())
		for t := time.Now(); time.Since(t) < window; {
		}
		m.Stop(c, Event{})
		for n := 0; n < 1000 && r.Next(&rec); n++ {
			switch rec.Event {
			case event.Start:
				running = true
				if !overrun && rec.Tick > horizons[0] {
					t.Fatal("a start does not raise the horizon")
				}
				horizons = horizons[1:]
			case event.Stop:
				running = false
			case event.Overflow:
				overrun = true
			case event.FirstUser:
				if events++; !running {
					outside++
				}
			}
		}
	}
	quit.Store(true)
	wg.Wait()
	if outside > 0 || events < 100 {
		t.Errorf("%d of %d events stand before the START that allowed them, or after the STOP", outside, events)
	}
}

// A hostile process can write to the horizon. Events are recorded and read all the same, and the
// clock is read a second time for each at most.
func TestScribbledHorizon(t *testing.T) {
	for name, clock := range clocks() {
		t.Run(name, func(t *testing.T) {
			scribbles := map[string]func(m *Mem) uint64{
				"0":            func(*Mem) uint64 { return 0 },
				"largest":      func(*Mem) uint64 { return math.MaxUint64 },
				"near":         func(m *Mem) uint64 { return m.now() + skew },
				"in a second":  func(m *Mem) uint64 { return m.now() + farBehind/2 },
				"in a century": func(m *Mem) uint64 { return m.now() + 1<<62 },
				"random":       func(m *Mem) uint64 { return m.now() + rand.Uint64N(2*farBehind) },
			}
			for what, value := range scribbles {
				t.Run(what, func(t *testing.T) { scribbleHorizon(t, clock, value) })
			}
		})
	}
}

func scribbleHorizon(t *testing.T, clock uint32, value func(m *Mem) uint64) {
	const events = 2000
	m := newMem(t, 1<<20, UntilFull)
	m.Clock = clock
	w, short := newWriter(t, m, 1), newWriter(t, m, 1)
	short.Short()
	m.Start(w, Event{})
	m.FreshClock()
	before := m.now()
	effort := tracetest.NewEffort()
	for n := range events {
		if n%10 == 0 {
			m.h.horizon.Store(value(m))
		}
		for _, w := range []*Writer{w, short} {
			if !w.Append(0, event.FirstUser, Who(1, 1), 0, sys.Ticks(), nil) {
				t.Fatal("an event is refused")
			}
		}
	}
	if took, over := effort.Over(500 * time.Millisecond); over {
		t.Errorf("%d events took %s", 2*events, took)
	}
	after := m.now()
	r := m.NewReader()
	var rec chunk.Record
	got := 0
	for end := time.Now().Add(time.Minute); got < 2*events && time.Now().Before(end); {
		for r.Next(&rec) {
			if rec.Event != event.FirstUser {
				continue
			}
			got++
			if rec.Tick < before || rec.Tick > after+skew {
				t.Fatalf("event %d has tick %d, recorded from %d to %d", got, rec.Tick, before, after)
			}
		}
	}
	if got != 2*events {
		t.Errorf("%d of %d events are read", got, 2*events)
	}
}

// TestTicksOfFuture makes one event, or a word that only shared memory has, claim a time that has not
// come. The events around it are read without delay, and the damage is counted.
func TestTicksOfFuture(t *testing.T) {
	const ahead, events = uint64(1) << 56, 100
	const lastTick = "last tick of a chunk"
	damages := map[string]func(m *Mem, i int){
		lastTick: func(m *Mem, i int) { m.at(i).last.Store(m.now() + ahead) },
		"tick of an event": func(m *Mem, i int) {
			if p := unsafe.Pointer(&m.bytes(i)[0]); uint16(le64(m.bytes(i))>>48) == chunk.KindFull {
				store64(unsafe.Add(p, 8), m.now()+ahead)
			} else {
				m.at(i).base.Store(m.now() + ahead)
			}
		},
	}
	for name, clock := range clocks() {
		for kind, short := range map[string]bool{"owned": false, "open": true} {
			for what, damage := range damages {
				for _, adopt := range []bool{false, true} {
					for _, peek := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/%s/%s/adopted=%v/peek=%v", name, kind, what, adopt, peek), func(t *testing.T) {
							want := 1
							switch {
							case short || adopt:
							case what == lastTick:
								want = 0 // the owner has it in memory of its own
							default:
								want = 1 + events // the base is that of all events
							}
							if n := ticksOfFuture(t, clock, short, adopt, peek, events, damage); n != want {
								t.Errorf("damage %d, want %d", n, want)
							}
						})
					}
				}
			}
		}
	}
}

func ticksOfFuture(t *testing.T, clock uint32, short, adopt, peek bool, events int, damage func(m *Mem, i int)) int {
	m := newMem(t, 64<<10, Loop)
	m.Clock = clock
	w := newWriter(t, m, 1)
	w.short = short
	m.change(Running, 0)
	record := func(n int) {
		for range n {
			if !w.Append(0, event.FirstUser, Who(1, 1), 0, sys.Ticks(), nil) {
				t.Fatal("an event is refused")
			}
		}
	}
	record(1)
	for i := range m.Chunks {
		if ctl(m.at(i).ctl.Load()).count() == 0 {
			continue
		}
		if adopt {
			w.parkChunk(w.shard(0))
		}
		damage(m, i)
	}
	if adopt {
		// A writer adopts a chunk when none is free.
		for i, ok := m.takeFree(w.slot); ok; i, ok = m.takeFree(w.slot) {
			m.begin(i, w.slot, owned, m.now())
		}
	}
	record(events)
	var r source = m.NewReader()
	if peek {
		r = m.Snapshot()
	}
	var rec chunk.Record
	got := 0
	for end := time.Now().Add(time.Minute); got <= events && time.Now().Before(end); {
		for r.Next(&rec) {
			if got++; rec.Tick > m.now() {
				t.Fatalf("event %d is read before its time", got)
			}
		}
	}
	if got != events+1 {
		t.Errorf("%d of %d events are read", got, events+1)
	}
	if lost := m.Lost(); lost != 0 {
		t.Errorf("%d events are lost", lost)
	}
	return int(m.h.damage.Load())
}
