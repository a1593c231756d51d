package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestPromisedRoom checks that any events whose EventSize sums to at most stream-min-size are
// recorded without loss, by any writers, including writers that die (ATR-24).
func TestPromisedRoom(t *testing.T) {
	for seed := range uint64(60) {
		for _, policy := range []uint8{UntilFull, Loop} {
			if testPromise(t, seed, policy); t.Failed() {
				t.Fatalf("seed %d policy %d", seed, policy)
			}
		}
	}
}

func testPromise(t *testing.T, seed uint64, policy uint8) {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := newMem(t, []int64{0, 8 << 10, 64 << 10, 300 << 10}[rng.IntN(4)], policy)
	c := newWriter(t, m, 1)
	budget := m.MinSize
	var f event.Set
	if rng.IntN(2) == 0 {
		f = event.All()
		f.Del(event.FirstUser)
		f.Del(event.Start)
		m.setFilter(&f)
	}
	m.Start(c, Event{})
	budget -= int64(chunk.EventSize(len(event.AppendSet(nil, &f))))

	// A process of this test writes a few events and ends in one of several ways.
	type proc struct {
		p    sys.Proc
		w    *Writer
		left int
	}
	gone := make(map[sys.Proc]bool)
	dead := func(p sys.Proc) bool { return gone[p] }
	var procs []*proc
	made := uint32(0)
	style := rng.IntN(4)
	e := Event{ID: event.FirstUser, Addr: 1}
	data := make([]byte, m.MaxData)
	var n, bytes uint64
	for {
		if len(procs) == 0 || rng.IntN(10) == 0 && len(procs) < 40 {
			made++
			p := &proc{p: sys.Proc{PID: 100000 + made, Start: 1}, left: 1 + rng.IntN([]int{3, 100, 1000, 30}[style])}
			slot, ok := m.TakeSlot(p.p, dead)
			if !ok {
				t.Fatal("no slot")
			}
			w, err := m.NewWriter(slot, p.p.PID, 1+rng.IntN(2))
			if err != nil {
				t.Fatal(err)
			}
			if rng.IntN(4) == 0 {
				w.Short()
			}
			p.w = w
			procs = append(procs, p)
		}
		i := rng.IntN(len(procs))
		p := procs[i]
		size := rng.IntN(40)
		if rng.IntN(8) == 0 || style == 3 {
			size = rng.IntN(m.MaxData + 1)
		}
		if budget -= int64(chunk.EventSize(size)); budget < 0 {
			break
		}
		e.Addr, e.TID = uint64(rng.IntN(10)), uint32(rng.IntN(1000))
		if !p.w.Record(rng.IntN(2), &e, data[:size]) {
			t.Fatalf("event %d (%d bytes before) of %d bytes refused; %d bytes of the promise left", n, bytes, size, budget)
		}
		n++
		bytes += uint64(size)
		if p.left--; p.left == 0 {
			procs = append(procs[:i], procs[i+1:]...)
			switch rng.IntN(3) {
			case 0:
				gone[p.p] = true // as if killed; Recover runs
				m.Recover(dead)
			case 1:
				gone[p.p] = true // as if killed, without Recover; there is room for some of these
				if len(gone)%3 == 0 {
					m.Recover(dead)
				}
			default:
				p.w.Close()
				m.FreeSlot(p.w.Slot())
			}
		}
	}
	if m.Lost() != 0 {
		t.Fatalf("%d lost", m.Lost())
	}
	r := m.NewReader()
	var rec chunk.Record
	got := uint64(0)
	for r.Next(&rec) {
		if rec.Event == event.FirstUser {
			got++
		} else if rec.Event != event.Start {
			t.Fatal(fmt.Sprint("unexpected ", rec.Event))
		}
	}
	if got != n {
		t.Fatalf("%d events recorded, %d read", n, got)
	}
}
