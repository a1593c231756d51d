package stream

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestTakenBackChunkIsAdopted has a flush take a chunk with room, writers find meanwhile that there is none,
// and the log refuse the chunk: writers then find it again.
func TestTakenBackChunkIsAdopted(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	left := newWriter(t, m, 1)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	if _, err := flushTo(m, w.Slot(), func(*Block) error { return nil }); err != nil {
		t.Fatal(err)
	}
	left.Record(0, &Event{ID: event.FirstUser}, nil)
	left.Close() // the only chunk with events
	_, err := flushTo(m, w.Slot(), func(b *Block) error {
		if b.Index < 0 {
			return nil
		}
		for range m.Chunks {
			if i, _, ok := m.adopt(w.Slot(), owned, 0); ok {
				t.Fatalf("chunk %d is adopted while the flush has it", i)
			}
		}
		return errPut
	})
	if err != errPut {
		t.Fatalf("Flush = %v", err)
	}
	if _, _, ok := m.adopt(w.Slot(), owned, 0); !ok {
		t.Errorf("no writer finds the chunk that the log has refused; %s", states(m))
	}
}

// TestKilledWhileRestoringClearedChunk kills a process between the two words that it moves when it restores
// a chunk after a failed flush: the note of a clear, and how far the chunk was read. The cleared events stay
// cleared.
func TestKilledWhileRestoringClearedChunk(t *testing.T) {
	m := newMem(t, 16<<10, UntilFull)
	w := newWriter(t, m, 1)
	m.Start(newWriter(t, m, 1), Event{})
	record := func(n uint64) { w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 0, n, 16)) }
	for n := range uint64(5) {
		record(n)
	}
	if !w.LeaveBusy() { // a clear cannot free the chunk
		t.Fatal("no chunk")
	}
	i := int(w.shard(0).tag.Load() & idxMask)
	m.Clear()
	m.at(i).ctl.And(^uint64(busyBit))
	record(5)
	c := word(m, i).with(0, full)
	if c.count() != 6 || m.clearedOf(i, c) != 5 {
		t.Fatalf("%d events, %d of them cleared", c.count(), m.clearedOf(i, c))
	}
	m.at(i).ctl.Store(uint64(c.with(w.Slot(), leaving)))
	m.at(i).cleared.Store(uint64(makeRead(c.gen()+1)) | m.at(i).cleared.Load()&(1<<genShift-1))
	m.Recover(func(sys.Proc) bool { return true })
	y := newTally(t, 1)
	y.order = false
	if _, err := flushTo(m, newWriter(t, m, 1).Slot(), y.block); err != nil {
		t.Fatal(err)
	}
	if y.got[0] != 1 || y.next[0] != 6 {
		t.Errorf("the log has %d events, the last is %d; want the one after the clear", y.got[0], y.next[0]-1)
	}
}

// TestCloseEndsUnfinishedEvents closes writers that have left an event in the middle, as a panic does. The
// chunk does not stay busy: its events can be read, its room is used again, and the slot can be freed.
func TestCloseEndsUnfinishedEvents(t *testing.T) {
	for _, short := range []bool{false, true} { // in a chunk of its own, and in an open one
		m := newMem(t, 16<<10, UntilFull)
		m.Start(newWriter(t, m, 1), Event{})
		w := newWriter(t, m, 1)
		if short {
			w.Short()
		}
		for n := range uint64(3) {
			w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 0, n, 16))
		}
		if short {
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.force(&Event{ID: event.FirstUser}, nil, func() uint64 { runtime.Goexit(); return 0 })
			}()
			<-done
		} else if !w.LeaveBusy() {
			t.Fatal("no chunk")
		}
		if m.Busy() != 1 {
			t.Fatalf("short %v: %d chunks are busy before", short, m.Busy())
		}
		w.Close()
		m.FreeSlot(w.Slot())
		if n := m.Busy(); n != 0 {
			t.Errorf("short %v: %d chunks stay busy", short, n)
		}
		y := newTally(t, 1)
		if readInto(m.NewReader(), y); y.got[0] != 3 {
			t.Errorf("short %v: %d events can be read", short, y.got[0])
		}
	}
}

// closerVariants are processes that close the chunk of another writer, which goes on.
var closerVariants = []stepVariant{{"close", UntilFull, 16, false, func(*Mem, *Writer, func(int) bool) {}, closeOther, ""}}

// closeOther closes the first chunk that another writer owns, as a writer that needs its permit does.
func closeOther(w *Writer, _ Event, _ []byte) bool {
	for i := range w.m.Chunks {
		if c := word(w.m, i); c.state() == owned && c.slot() != w.slot && !c.busy() {
			return w.m.park(i, c)
		}
	}
	return false
}

// TestCloserStoppedAtEachInstruction stops a process that closes a chunk after each instruction. Meanwhile
// the chunk gets more events, from its owner or from a writer that has adopted it. What its descriptor then
// says of its last event is so, or nothing: the time index of the log and the time of a loss rely on it.
func TestCloserStoppedAtEachInstruction(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	runtime.LockOSThread()       // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	var at []int // the instructions that close the chunk, as far as they do not look for its last event
	steps := 0
	closerStopped(t, -1, 0, func(x *stepped) {
		steps = x.steps
		if f := runtime.FuncForPC(x.pc()); f != nil && strings.HasSuffix(f.Name(), ".parkAged") {
			at = append(at, steps)
		}
	})
	if tracetest.Full() {
		for at = nil; len(at) < steps; at = append(at, len(at)+1) {
		}
	}
	if len(at) == 0 {
		t.Fatal("the chunk is not closed")
	}
	few := max(1, len(at)/tracetest.Scale(12, len(at), len(at)))
	for n := os.Getpid() % few; n < len(at) && !t.Failed(); n += few { // others in each run
		for how := range 3 {
			closerStopped(t, at[n], how, nil)
		}
	}
	t.Logf("%d instructions, stopped at each %d of %d", steps, few, len(at))
}

// closerStopped stops the process after instruction at, or calls look after each, if that is -1.
func closerStopped(t *testing.T, at, how int, look func(*stepped)) {
	x := startStepped(t, closerVariants[0])
	defer x.end()
	m := x.m
	w := newWriter(t, m, 1)
	var n uint64
	record := func(w *Writer) {
		if !w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 1, n, 16)) {
			t.Fatalf("event %d finds no room", n)
		}
		n++
	}
	record(w)
	record(w)
	i := int(w.shard(0).tag.Load() & idxMask)
	for x.phase.Load() != stepDone && (x.steps < at || at < 0) {
		if x.step(); look != nil {
			look(x)
		}
	}
	check := func(when string) {
		c := word(m, i)
		b := m.bytes(i)[:c.off()]
		_, want := span(b, m.at(i).base.Load(), 0, 0)
		if p := m.piece(b, i, c); c.count() > 0 && !c.busy() && p.max != want {
			t.Errorf("after instruction %d, case %d, %s: the last event of a chunk is said to be of tick %d, and is of %d", at, how, when, p.max, want)
		}
	}
	adopt := func() *Writer {
		if c := word(m, i); c.state() == owned {
			m.park(i, c)
		}
		m.setPartialHint() // the stopped process may be about to say so
		y := newWriter(t, m, 1)
		for word(m, i).state() == partial {
			j, c, ok := m.adopt(y.Slot(), owned, 0)
			if !ok {
				t.Fatal("the chunk is not adopted")
			}
			y.install(y.shard(0), j, c, 0)
		}
		return y
	}
	switch how {
	case 0: // its owner goes on
		record(w)
	case 1: // another writer closes it, and a third one adopts it and goes on
		w = adopt()
		record(w)
	case 2: // one event more, and the chunk changes hands without another
		record(w)
		adopt()
	}
	check("at the stop")
	x.runTo(stepDone)
	check("at the end")
	if c := word(m, i); c.state() == owned {
		m.retire(i, c)
	}
	check("when it is full")
}
