package stream

import (
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestFlushWaitsForFirstEvent flushes a stream while a writer is in the middle of the first event of a
// chunk. The event is older than the flush, and is part of it.
func TestFlushWaitsForFirstEvent(t *testing.T) {
	setPatience(t, 10*time.Second)
	m := newMem(t, 64<<10, UntilFull)
	m.change(Running, 0)
	w := newWriter(t, m, 1)
	if !w.exchange(w.shard(0), 100, 0) {
		t.Fatal("no chunk")
	}
	i := int(w.shard(0).tag.Load() & idxMask)
	d := m.at(i)
	c := ctl(d.ctl.Load())
	tick := m.now()
	d.ctl.Or(busyBit)
	before := m.h.horizon.Load()
	go func() {
		for m.h.horizon.Load() == before {
			time.Sleep(10 * time.Microsecond)
		}
		time.Sleep(2 * time.Millisecond) // longer than a flush that does not wait
		e := Event{ID: event.FirstUser}
		writeFull(unsafe.Pointer(&m.bytes(i)[0]), &e, 1, tick, nil, false)
		d.publish(c, chunk.FullSize)
	}()
	events := 0
	slot := newWriter(t, m, 1).Slot()
	if _, err := flushTo(m, slot, func(b *Block) error {
		if b.Index >= 0 {
			events += b.Count
		}
		return nil
	}); err != nil || events != 1 {
		t.Errorf("%d events are flushed, %v", events, err)
	}
}
