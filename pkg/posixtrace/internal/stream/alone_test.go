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
