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

// TestAppendIsLikeAppendEvent records the same events by Append and by AppendEvent, which repeats it, while
// the filter, the state and the room of the streams change. Both have the same answers, fill their
// chunks alike, and leave the same events.
func TestAppendIsLikeAppendEvent(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull} {
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
			okA := wa.Append(hint, id, Who(e.PID, e.TID), e.Addr, sys.Ticks(), data[:size])
			okB := wb.AppendEvent(hint, &e, data[:size], false)
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
}

// filling returns how many events the chunks have, in how many bytes.
func filling(m *Mem) (s []string) {
	for i := range m.Chunks {
		c := word(m, i)
		s = append(s, fmt.Sprint(c.state(), c.count(), c.off()))
	}
	return s
}

// contents returns the events of a stream without their times.
func contents(m *Mem) (s []string) {
	r := m.Snapshot()
	var rec chunk.Record
	for r.Next(&rec) {
		rec.Tick = 0
		s = append(s, fmt.Sprintf("%+v", rec))
	}
	return s
}
