package stream

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestReaderLeavesEventsOfScan records while a reader scans. An event of a writer with times of its
// own is left to the next scan, because an older one may be in a chunk that the scan has seen
// already; an event of any other writer is not.
func TestReaderLeavesEventsOfScan(t *testing.T) {
	for _, own := range []bool{false, true} {
		m := newMem(t, 64<<10, Loop)
		w := newWriter(t, m, 1)
		if own {
			w.Alone()
		}
		m.change(Running, 0)
		e := Event{ID: event.FirstUser, Tick: m.now()}
		w.Record(0, &e, nil)
		r := m.NewReader()
		r.rescan()
		w.Record(0, &e, nil)
		k := r.top()
		if k == nil || !r.load(k) {
			t.Fatal("nothing to read")
		}
		if left := !r.decode(k); left != own {
			t.Errorf("times of its own %v: the event is left %v", own, left)
		}
	}
}

// TestReaderLeavesEventsOfWriterThatJoins has a writer with times of its own come to an open chunk after
// a scan has seen it. Its events are left to the next scan.
func TestReaderLeavesEventsOfWriterThatJoins(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	w, own := newWriter(t, m, 1), newWriter(t, m, 1)
	w.Short()
	own.Short()
	own.Alone()
	m.change(Running, 0)
	e := Event{ID: event.FirstUser}
	w.Record(0, &e, nil)
	r := m.NewReader()
	r.rescan()
	own.shard(0).entry.Store(w.shard(0).entry.Load())
	e.Tick = m.now()
	own.Record(0, &e, nil)
	k := r.top()
	if k == nil || ctl(m.at(k.i).ctl.Load()).count() != 2 {
		t.Fatal("the writers use two chunks")
	}
	if !r.load(k) || r.decode(k) {
		t.Error("the event is not left")
	}
}
