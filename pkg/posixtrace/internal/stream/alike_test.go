package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestAppendIsLikeAppendEvent records the same events by Append, or AppendSpan, and by AppendEvent, which
// repeats them, while the filter, the state and the room of the streams change. Both have the same
// answers, fill their chunks alike, and leave the same events.
func TestAppendIsLikeAppendEvent(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull} {
		for _, span := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/span=%v", policy, span), func(t *testing.T) { appendIsLikeAppendEvent(t, policy, span) })
		}
	}
}

func appendIsLikeAppendEvent(t *testing.T, policy uint8, span bool) {
	rng := rand.New(rand.NewPCG(uint64(policy), 1))
	a, b := newMem(t, 32<<10, policy), newMem(t, 32<<10, policy)
	wa, wb := newWriter(t, a, 2), newWriter(t, b, 2)
	a.Start(wa, Event{})
	b.Start(wb, Event{})
	data := make([]byte, 2*pageSize)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for n := range 20000 {
		switch rng.IntN(1000) {
		case 0:
			a.Stop(wa, Event{})
			b.Stop(wb, Event{})
		case 1, 2:
			a.Start(wa, Event{})
			b.Start(wb, Event{})
		case 3:
			var f event.Set
			if rng.IntN(2) == 0 {
				f.Add(event.FirstUser + 1)
			}
			a.setFilter(&f)
			b.setFilter(&f)
		case 4:
			a.Clear()
			b.Clear()
		}
		size := rng.IntN(100)
		if rng.IntN(50) == 0 {
			size = rng.IntN(len(data))
		}
		id := event.FirstUser + event.ID(rng.IntN(3))
		if rng.IntN(500) == 0 {
			id = event.ID(rng.Uint32())
		}
		e := Event{ID: id, PID: wa.PID(), TID: uint32(rng.IntN(5)), Addr: uint64(rng.IntN(100))}
		hint := n / 100
		var okA bool
		if span {
			e.PID = 0
			e.Span = Span{Key: rng.Uint64N(2), Parent: rng.Uint64N(2)}
			same := e
			same.Ticks = sys.Ticks()
			okA = appendSpan(wa, hint, &same, data[:size])
			if okA && same.Span.Key == 0 {
				t.Fatalf("event %d: the span has no key", n)
			}
		} else {
			okA = wa.Append(hint, id, Who(e.PID, e.TID), e.Addr, sys.Ticks(), data[:size])
		}
		okB := wb.AppendEvent(hint, &e, data[:size], span)
		if okA != okB {
			t.Fatalf("event %d: Append returns %v, AppendEvent %v", n, okA, okB)
		}
	}
	if x, y := filling(a), filling(b); !slices.Equal(x, y) {
		t.Errorf("the chunks are filled to\n%v\nand\n%v", x, y)
	}
	if x, y := contents(a), contents(b); !slices.Equal(x, y) {
		t.Errorf("policy %d: %d and %d events that differ", policy, len(x), len(y))
	}
	if a.Lost() != b.Lost() {
		t.Errorf("%d and %d lost", a.Lost(), b.Lost())
	}
}

// filling returns how many events the chunks have, in how many bytes.
func filling(m *Mem) (s []string) {
	for i := range m.Chunks {
		c := word(m, i)
		s = append(s, fmt.Sprint(c.state(), c.count(), c.off()))
	}
	return s
}

// contents returns the events of a stream without their times and the keys of their spans.
func contents(m *Mem) (s []string) {
	r := m.Snapshot()
	var rec chunk.Record
	for r.Next(&rec) {
		rec.Tick, rec.Span = 0, min(rec.Span, 1)
		s = append(s, fmt.Sprintf("%+v", rec))
	}
	return s
}

// appendSpan appends the event e by AppendSpan.
func appendSpan(w *Writer, hint int, e *Event, data []byte) bool {
	return w.AppendSpan(hint, MakeSpanPoint(e.ID, e.TID), e.Addr, e.Ticks, &e.Span, data)
}
