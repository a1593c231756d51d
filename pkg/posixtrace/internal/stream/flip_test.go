//go:build !race

package stream

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestFlippedBitsAreHarmless flips bits of a stream while all operations run on it. None may panic,
// hang or touch other memory. The events that are read do not matter.
func TestFlippedBitsAreHarmless(t *testing.T) {
	setPatience(t, forLongStops)
	g, _ := Measure(16<<10, 256, 2)
	b := guarded(t, int(g.Size))[:g.Size]
	m, err := Format(b, &Config{Geometry: g, ID: 1, Attributes: attributes(256, Loop), Creator: sys.SelfProc(), HasLog: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	c := newWriter(t, m, 1)
	m.Start(c, Event{})
	var quit atomic.Bool
	var wg sync.WaitGroup
	var rounds [5]atomic.Int64
	loop := func(i int, f func()) {
		wg.Go(func() {
			for !quit.Load() {
				f()
				rounds[i].Add(1)
			}
		})
	}
	for i := range 2 {
		w := newWriter(t, m, 2)
		n := 0
		loop(i, func() {
			n++
			w.Record(n>>5, &Event{ID: event.FirstUser, Addr: uint64(n % 3)}, make([]byte, n%300))
		})
	}
	var rec chunk.Record
	loop(2, func() {
		r := m.NewReader()
		for range 100 {
			r.Next(&rec)
		}
	})
	loop(3, func() {
		var rec chunk.Record
		r := m.Snapshot()
		for r.Next(&rec) {
		}
		r.Rewind()
		m.Status(true)
		m.FreshClock()
		m.Patterns()
		if m2, err := Attach(b, false); err == nil {
			m2.writers()
		}
	})
	n := 0
	loop(4, func() {
		n++
		m.Start(c, Event{})
		m.SetFilter(c, Event{}, &event.Set{})
		m.addAnchor(chunk.ClockAnchor{Tick: m.Now()})
		switch n % 4 {
		case 0:
			flushTo(m, c.Slot(), func(*Block) error { return nil })
		case 1:
			m.Stop(c, Event{})
		case 2:
			m.Clear()
		case 3:
			m.Recover(func(sys.Proc) bool { return n%8 == 3 })
		}
	})
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	state := int(unsafe.Offsetof(m.h.state))
	ran := func() bool {
		for i := range rounds {
			if rounds[i].Load() == 0 {
				return false
			}
		}
		return true
	}
	for more := lasting(time.Second, ran); more(); {
		var at int
		switch rng.IntN(4) {
		case 0:
			at = state + rng.IntN(headerSize-state)&^7
		case 1, 2:
			at = agesOffset() + rng.IntN(dataOffset(m.Chunks)-agesOffset())&^7
		default:
			at = dataOffset(m.Chunks) + rng.IntN(len(b)-dataOffset(m.Chunks))&^7
		}
		p := (*atomic.Uint64)(unsafe.Pointer(&b[at]))
		p.Store(p.Load() ^ 1<<rng.IntN(64))
		if rng.IntN(50) == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	quit.Store(true)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		panic("something hangs")
	}
	for i := range rounds {
		if rounds[i].Load() == 0 {
			t.Errorf("loop %d never ran", i)
		}
	}
}
