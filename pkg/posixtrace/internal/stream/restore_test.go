package stream

import (
	"errors"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

var errPut = errors.New("no room in the log")

// TestRestoredChunkHasNewOwner checks that any writer may use the room of a chunk that a failed flush
// has closed, also another shard of its former owner. The two do not use the chunk at once.
func TestRestoredChunkHasNewOwner(t *testing.T) {
	m := newMem(t, 64<<10, UntilFull)
	w := newWriter(t, m, 2)
	m.Start(w, Event{})
	var y = newTally(t, 2)
	var sent [2]uint64
	refused := uint64(0)
	record := func(shard int, addr uint64, size int) bool {
		e := Event{ID: event.FirstUser, Addr: addr, TID: uint32(shard + 1)}
		ok := w.Record(shard, &e, stamp(nil, uint32(shard), sent[shard], size))
		if ok {
			sent[shard]++
		} else {
			refused++
		}
		return ok
	}
	for addr := range uint64(3) {
		record(0, addr, 16)
	}
	i := int(w.shard(0).tag.Load() & idxMask)
	if _, err := flushTo(m, w.Slot(), func(*Block) error { return errPut }); err != errPut {
		t.Fatalf("Flush = %v", err)
	}
	if c := word(m, i); c.state() != partial {
		t.Fatalf("the chunk is in state %d, not partial", c.state())
	}
	for word(m, i).state() != owned {
		if !record(1, 100, m.MaxData) {
			t.Fatal("full, and the room was not taken")
		}
	}
	for n := range uint64(8) {
		record(0, 10+n%3, 16)
		record(1, 110+n, 16)
	}
	w.Close()
	r := m.NewReader()
	var rec chunk.Record
	last := uint64(0)
	for r.Next(&rec) {
		if y.add(&rec); rec.Event == event.FirstUser && rec.TID != uint32(rec.Data[0])+1 {
			t.Errorf("an event of shard %d, thread %d", rec.Data[0], rec.TID)
		}
		if rec.Tick < last || rec.Tick > m.now() {
			t.Errorf("an event of tick %d after %d", rec.Tick, last)
		}
		last = rec.Tick
	}
	if n := m.h.damage.Load(); n != 0 || m.Lost() != refused || y.got[0] != sent[0] || y.got[1] != sent[1] {
		t.Errorf("%d damaged, %d lost of %d refused, %d read of %d", n, m.Lost(), refused, y.got, sent)
	}
}

// TestRestoreSparesOverwrittenChunk has a writer of a LOOP stream overwrite, while a flush fails, a chunk
// that the flush had closed. The flush does not restore the new content.
func TestRestoreSparesOverwrittenChunk(t *testing.T) {
	m := newMem(t, 16<<10, Loop)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	e := Event{ID: event.FirstUser, TID: 1}
	// One chunk more than a flush takes at a time; the last of them is to be restored.
	early := make([]*Writer, m.Chunks/4)
	for i := range early {
		early[i] = newWriter(t, m, 1)
		e.Addr = uint64(i)
		early[i].Record(0, &e, stamp(nil, 0, 0, 16))
	}
	i := int(early[len(early)-1].shard(0).tag.Load() & idxMask)
	was := word(m, i)
	if was.state() != owned {
		t.Fatalf("the chunk is in state %d, not owned", was.state())
	}
	_, err := flushTo(m, w.Slot(), func(*Block) error {
		// Overwritten, and left with room by a writer of many sites.
		for n := uint64(0); word(m, i).gen() == was.gen(); n++ {
			e.Addr = n % 100
			w.Record(0, &e, stamp(nil, 0, 0, 600))
		}
		for n := range uint64(20) {
			e.Addr = n
			w.Record(0, &e, stamp(nil, 0, 0, 16))
		}
		w.Close()
		return errPut
	})
	if err != errPut {
		t.Fatalf("Flush = %v", err)
	}
	now := word(m, i)
	if now.state() != partial {
		t.Fatalf("the chunk is in state %d", now.state())
	}
	_, sites := m.findEnd(i, now)
	if got := readWord(m.at(i).sites.Load()); got != makeRead(now.gen()).at(sites, now.off()) {
		t.Errorf("%d sites in generation %d, want %d in %d", got.count(), got.gen(), sites, now.gen())
	}
}

// TestAdoptFindsLaterPartial checks that a writer that found no partial chunk cannot hide a later one,
// even if another writer has noted before that there is none.
func TestAdoptFindsLaterPartial(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	leave := func() {
		w := newWriter(t, m, 1)
		w.Record(0, &Event{ID: event.FirstUser}, nil)
		w.Close()
		m.FreeSlot(w.Slot())
	}
	m.Start(newWriter(t, m, 1), Event{})
	leave()
	hint := m.h.partials.Load() // of a slow writer
	slot := newWriter(t, m, 1).Slot()
	for {
		if _, _, ok := m.adopt(slot, owned, 0); !ok {
			break
		}
	}
	if m.h.partials.Load()&somePartial != 0 {
		t.Fatal("there is no free chunk")
	}
	leave()
	m.clearPartialHint(hint)
	if _, _, ok := m.adopt(slot, owned, 0); !ok {
		t.Error("a chunk with room is not found")
	}
}

// TestKilledWhileRestoring checks that a process killed while it restores a chunk after a failed flush
// leaves the events, and the note of which were read, unchanged.
func TestKilledWhileRestoring(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	for n := range uint64(5) {
		w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 0, n, 16))
	}
	i := int(w.shard(0).tag.Load() & idxMask)
	c := word(m, i).with(0, full)
	m.at(i).ctl.Store(uint64(c.with(w.Slot(), leaving)))
	m.at(i).read.Store(uint64(makeRead(c.gen() + 1)))
	m.Recover(func(sys.Proc) bool { return true })
	if c := word(m, i); c.state() != full || c.gen() != readWord(m.at(i).read.Load()).gen() {
		t.Errorf("state %d, generation %d, read of generation %d", c.state(), c.gen(), readWord(m.at(i).read.Load()).gen())
	}
	y := newTally(t, 1)
	if readInto(m.NewReader(), y); y.got[0] != 5 {
		t.Errorf("%d events read, not 5", y.got[0])
	}
}

// TestForgedControlWord has a hostile process forge a control word by which a writer without chunk
// takes the chunk for its own. The writer's process is not harmed.
func TestForgedControlWord(t *testing.T) {
	for _, policy := range []uint8{Loop, UntilFull} {
		m := newMem(t, 16<<10, policy)
		w := newWriter(t, m, 1)
		m.Start(newWriter(t, m, 1), Event{})
		m.at(0).ctl.Store(noChunk)
		for range 1000 {
			w.Record(0, &Event{ID: event.FirstUser}, make([]byte, 100))
		}
	}
}
