package stream

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// fillPermits makes a writer for each permit of the stream. Each records one event.
func fillPermits(t testing.TB, m *Mem) (ws []*Writer) {
	t.Helper()
	for i := range m.Permits {
		w := newWriter(t, m, 1)
		if !w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 100+uint32(i), 0, 20)) {
			t.Fatal("an event is refused")
		}
		ws = append(ws, w)
	}
	return ws
}

// owners counts the chunks that writers own.
func owners(m *Mem) (n int) {
	for i := range m.Chunks {
		if s := word(m, i).state(); s == owned || s == claiming {
			n++
		}
	}
	return n
}

// TestRunningWriterTakesOverPermit has one writer record while those that have all permits are
// stopped, and then others in turn. Each gets a chunk of its own soon, and all events stay.
func TestRunningWriterTakesOverPermit(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull} {
		m := newMem(t, 1<<20, policy)
		ctl := newWriter(t, m, 1)
		ctl.Short()
		m.Start(ctl, Event{})
		ws := fillPermits(t, m)
		ws = append(ws, newWriter(t, m, 1), newWriter(t, m, 1), newWriter(t, m, 1))
		next := make([]uint64, len(ws))
		for i := range m.Permits {
			next[i] = 1
		}
		for round := range 3 * len(ws) {
			i := (m.Permits + round*5) % len(ws)
			w := ws[i]
			for n := 0; w.shard(0).waited.Load() != 0 || n < 3; n++ {
				if n > 3*lookAgain {
					t.Fatalf("after %d events writer %d has no chunk of its own; %s", n, i, states(m))
				}
				if !w.Record(0, &Event{ID: event.FirstUser, TID: uint32(i)}, stamp(nil, 100+uint32(i), next[i], 20)) {
					t.Fatalf("an event is refused; %s", states(m))
				}
				next[i]++
			}
			if n := owners(m); n > m.Permits {
				t.Fatalf("%d owned chunks, for %d permits", n, m.Permits)
			}
		}
		y := newTally(t, 200)
		readInto(m.NewReader(), y)
		for i, n := range next {
			if y.got[100+i] != n {
				t.Errorf("%d of the %d events of writer %d are read", y.got[100+i], n, i)
			}
		}
		if m.h.damage.Load() != 0 || m.Lost() != 0 {
			t.Errorf("%d damaged, %d lost", m.h.damage.Load(), m.Lost())
		}
	}
}

// TestRunningWritersKeepPermits checks that no writer takes over the permit of one that records as often
// as itself, or that is stopped in the middle of an event.
func TestRunningWritersKeepPermits(t *testing.T) {
	for _, busy := range []bool{false, true} {
		m := newMem(t, 1<<20, Loop)
		m.change(Running, 0)
		ws := fillPermits(t, m)
		w := newWriter(t, m, 1)
		if busy {
			for i := range ws {
				m.at(int(ws[i].shard(0).tag.Load() & idxMask)).ctl.Or(busyBit)
			}
		}
		for n := range uint64(5 * lookAgain) {
			w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 1, n, 20))
			for i := range ws {
				if !busy {
					ws[i].Record(0, &Event{ID: event.FirstUser}, stamp(nil, 100+uint32(i), n+1, 20))
				}
			}
		}
		for i := range ws {
			if p := ws[i].shard(0).permit.Load(); p == 0 || m.h.permitTable[p-1].Load()>>32 != ws[i].shard(0).id {
				t.Errorf("busy %v: writer %d has lost its permit", busy, i)
			}
		}
		if w.shard(0).waited.Load() == 0 {
			t.Errorf("busy %v: the writer without a permit does not wait for one", busy)
		}
	}
}

// TestShardsHavePermitsOfTheirOwn has a shard lose its permit to another process and another shard of the
// same writer get it. The first shard must not believe that the permit is its own.
func TestShardsHavePermitsOfTheirOwn(t *testing.T) {
	m := newMem(t, 1<<20, Loop)
	m.change(Running, 0)
	w := newWriter(t, m, 2)
	record := func(w *Writer, hint int) {
		w.Record(hint, &Event{ID: event.FirstUser}, stamp(nil, 1, 0, 20))
	}
	record(w, 0)
	fillRest := func() {
		for p := range m.Permits {
			m.h.permitTable[p].CompareAndSwap(0, 1000<<32)
		}
	}
	fillRest()
	other := newWriter(t, m, 1)
	for other.shard(0).waited.Load() != 0 || other.shard(0).tag.Load() == noChunk {
		record(other, 0)
	}
	other.Close()
	record(w, 1)
	if w.shard(0).permit.Load() != w.shard(1).permit.Load() {
		t.Fatal("the second shard has another permit than the first had")
	}
	for range 3 {
		record(w, 0)
	}
	if n := owners(m); n != 1 {
		t.Errorf("%d owned chunks with one permit", n)
	}
}

// takeOverVictim prepares the kill-step variant in which the writer takes over a permit.
func takeOverVictim(m *Mem, w *Writer, record func(size int) bool) {
	for range m.Permits {
		slot, _ := m.TakeSlot(sys.SelfProc(), nil)
		other, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
		if err != nil {
			panic(err)
		}
		other.exchange(other.shard(0), 100, 0) // an event of its own would disturb the account
	}
	for s := w.shard(0); s.waited.Load() != lookAgain || s.seen[0] == 0; {
		record(16)
	}
}
