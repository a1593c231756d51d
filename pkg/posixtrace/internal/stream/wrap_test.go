package stream

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Counts that wrap or saturate one day, and their tests. Words of 64 bits that count one by one do
// not: sequence numbers and ages, clears, losses, late and damaged events, a log's totals. Nor do
// ticks, 64 bits of a counter that starts near zero when the machine does.
//
//	generation of a chunk (control word, read word, loss word, log)   20  TestCountsWrap, TestLoggedAcrossGenerationWrap
//	changes of the state word                                         48  TestCountsWrap
//	closings of an account                                            20  TestCountsWrap
//	clears, in the word of the pending record                         32  TestCountsWrap
//	tickets of flushes, of syncs                                      32  TestCountsWrap, TestTicketsWrap
//	chunks of a shard (epoch)                                         32  TestShardEpochWraps
//	generation of a shard's tag                                       20  TestShardTagWraps
//	generation that a reader knows                                    20  TestReaderGenerationWraps
//	delta of a record                                                 32  TestTimesFarApart
//	events lost of a chunk                                            44  TestLossTotalSaturates
//	events lost for lack of room                                      44  TestLossTotalSaturates
//	slots of writers                                                  10  TestAllSlotsTaken
//	changes of a page (registry)                                      32  TestWordChangesWhenCountWraps
//	events, bytes, sites of a chunk                                       TestLargestChunk

// aged, if set, changes the streams that tests make.
var aged func(*Mem)

// growOld makes the counts of a new stream about to wrap.
func growOld(m *Mem) {
	for i := range m.Chunks {
		d := m.at(i)
		gen := uint64(genMask - i%4)
		d.ctl.Store(uint64(makeCtl(gen, 0, free)))
		d.read.Store(uint64(makeRead(gen)))
		d.lost.Store(gen << genShift)
		d.sites.Store(uint64(makeRead(gen)))
	}
	h := m.h
	h.state.Or(math.MaxUint64 - 3*stateGen + 1)
	h.clears.Store(math.MaxUint32 - 1)
	for i := range h.lossAccounts {
		h.lossAccounts[i].lost.Store((1<<(64-genShift) - 2) << genShift)
	}
	h.flushAsk.Store(math.MaxUint32 - 1)
	h.flushDone.Store(math.MaxUint32 - 1)
	h.syncDone.Store(math.MaxUint32 - 1)
}

// TestCountsWrap runs tests of this package on streams whose counts are about to wrap.
func TestCountsWrap(t *testing.T) {
	aged = growOld
	defer func() { aged = nil }()
	for _, policy := range []uint8{Loop, UntilFull, Flush} {
		for _, reading := range []string{"after", "beside"} {
			t.Run(fmt.Sprintf("accounting/policy%d/%s", policy, reading), func(t *testing.T) {
				testAccounting(t, policy, 3, 3000, reading, false)
			})
		}
	}
	for seed := range uint64(8) {
		testPromise(t, seed, UntilFull)
		testPromise(t, seed, Loop)
	}
	testEvicted(t, Loop, 1, 4)
	t.Run("UntilFull", TestMarksUntilFull)
	t.Run("EarlyRestart", TestMarksEarlyRestart)
	t.Run("NoRestart", TestMarksNoRestart)
	t.Run("Loop", TestMarksLoop)
	t.Run("Flush", TestFlushReportsMarks)
	t.Run("Clear", TestClearTakesFromReader)
	t.Run("Restored", TestRestoredChunkHasNewOwner)
	t.Run("RestoredLate", TestRestoreSparesOverwrittenChunk)
}

// TestTicketsWrap checks that a request for a flush or a sync is served when the flush is done, and not before.
func TestTicketsWrap(t *testing.T) {
	for _, first := range []uint32{0, 1<<31 - 3, 1 << 31, math.MaxUint32 - 2} {
		m := newMem(t, 8<<10, Loop)
		m.h.flushAsk.Store(first)
		m.h.flushDone.Store(first)
		for i := range 8 {
			ticket := m.AskFlush()
			if _, done := m.FlushDone(ticket); done {
				t.Fatalf("flush %d after %#x is done before it was", i, first)
			}
			if a, wanted := m.FlushWanted(); !wanted || a != ticket {
				t.Fatalf("flush %d after %#x is not wanted", i, first)
			}
			m.FlushServed(ticket, 0)
			if _, done := m.FlushDone(ticket); !done {
				t.Fatalf("flush %d after %#x is not done", i, first)
			}
		}
	}
	// A stream that has been flushed for years, and never synced.
	for _, flushes := range []uint64{1 << 30, 1<<31 - 2, 1 << 31, 1<<31 + 1<<30, 1<<32 - 2} {
		m := newMem(t, 8<<10, Loop)
		for n := uint64(0); n < flushes; {
			n = min(n+1<<20, flushes)
			m.h.flushAsk.Store(uint32(n))
			m.FlushServed(uint32(n), 0)
		}
		for range 4 {
			ticket := m.AskSync()
			if m.Synced(ticket) {
				t.Errorf("after %d flushes a sync is done before it was", flushes)
			}
			m.FlushServed(ticket, 0)
			if m.Synced(ticket) {
				t.Errorf("after %d flushes another makes a sync done", flushes)
			}
			m.SyncServed(ticket)
			if !m.Synced(ticket) {
				t.Errorf("after %d flushes a sync that was done is not", flushes)
			}
		}
	}
}

// TestShardEpochWraps checks that a shard does not use cache entries of an earlier chunk when its count
// of chunks wraps.
func TestShardEpochWraps(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	record := func(addr uint64) {
		t.Helper()
		if !w.Record(0, &Event{ID: event.FirstUser, Addr: addr}, nil) {
			t.Fatal("no room")
		}
	}
	renew := func() { // the next event is the first of a chunk
		if _, err := flushTo(m, w.Slot(), func(*Block) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	s := w.shard(0)
	for round := range 4 {
		record(1)
		record(2) // the second site of its chunk
		epoch := s.epoch
		s.epoch = math.MaxUint32 - uint32(round)
		for s.epoch != epoch {
			renew()
			record(1)
			if s.epoch < epoch && s.epoch+10 < epoch {
				s.epoch = epoch - 2 // skip the chunks before the same number
			}
		}
		record(2)
		r := m.Snapshot()
		for _, rec := range readAll(t, r) {
			if rec.Event == event.FirstUser && rec.Addr != 1 && rec.Addr != 2 {
				t.Errorf("round %d: an event of a trace point at %#x", round, rec.Addr)
			}
		}
		if n := m.h.damage.Load(); n != 0 {
			t.Fatalf("round %d: %d damaged", round, n)
		}
		renew()
	}
}

// TestShardTagWraps checks that a shard that was idle for a million uses of its last chunk does not
// append to that chunk when another shard owns it.
func TestShardTagWraps(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	w := newWriter(t, m, 2)
	m.Start(w, Event{})
	record := func(shard int, addr uint64) {
		t.Helper()
		if !w.Record(shard, &Event{ID: event.FirstUser, Addr: addr}, nil) {
			t.Fatal("no room")
		}
	}
	record(1, 1)
	i := int(w.shard(1).tag.Load() & idxMask)
	gen := word(m, i).gen()
	flushTo(m, w.Slot(), func(*Block) error { return nil })
	// As after all of its uses but the last few.
	d := m.at(i)
	d.ctl.Store(uint64(makeCtl(gen-1, 0, free)))
	d.read.Store(uint64(makeRead(gen - 1)))
	d.lost.Store(((gen - 1) & genMask) << genShift)
	for j := range m.Chunks { // the one that is claimed next
		if j != i {
			m.freeMap[j>>6].And(^(uint64(1) << (j & 63)))
			m.at(j).ctl.Store(uint64(makeCtl(1, 0, leaving)))
		}
	}
	record(0, 2)
	if c := word(m, i); c.gen() != gen || c.state() != owned {
		t.Fatalf("the chunk has generation %d, not %d", c.gen(), gen)
	}
	if w.shard(1).tag.Load() == w.shard(0).tag.Load() {
		t.Error("two shards own one chunk")
	}
	for j := range m.Chunks {
		if j != i {
			m.at(j).ctl.Store(uint64(makeCtl(1, 0, free)))
		}
	}
	record(1, 1)
	recs := slices.DeleteFunc(readAll(t, m.Snapshot()), func(rec chunk.Record) bool { return !rec.Event.User() })
	if len(recs) != 2 || recs[0].Addr != 2 || recs[1].Addr != 1 {
		t.Errorf("two events are read as %v", recs)
	}
}

// TestReaderGenerationWraps checks that a reader notices that a chunk was reused a million times since
// its last look.
func TestReaderGenerationWraps(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	flushTo(m, w.Slot(), func(*Block) error { return nil })
	w.Record(0, &Event{ID: event.FirstUser, Addr: 1}, stamp(nil, 0, 1, 200))
	i := int(w.shard(0).tag.Load() & idxMask)
	gen := word(m, i).gen()
	r := m.NewReader()
	if recs := readAll(t, r); len(recs) == 0 {
		t.Fatal("nothing to read")
	}
	flushTo(m, w.Slot(), func(*Block) error { return nil })
	d := m.at(i)
	d.ctl.Store(uint64(makeCtl(gen-1, 0, free)))
	d.read.Store(uint64(makeRead(gen - 1)))
	d.lost.Store(((gen - 1) & genMask) << genShift)
	for j := range m.Chunks {
		if j != i {
			m.freeMap[j>>6].And(^(uint64(1) << (j & 63)))
			m.at(j).ctl.Store(uint64(makeCtl(1, 0, leaving)))
		}
	}
	for n := range uint64(5) {
		w.Record(0, &Event{ID: event.FirstUser, Addr: 2 + n}, stamp(nil, 1, n, 100))
	}
	if c := word(m, i); c.gen() != gen {
		t.Fatalf("the chunk has generation %d, not %d", c.gen(), gen)
	}
	n := uint64(0)
	for _, rec := range readAll(t, r) {
		if rec.Event != event.FirstUser {
			continue
		}
		if who, k, err := unstamp(rec.Data); err != nil || who != 1 || k != n {
			t.Errorf("event %d of %d (%v) instead of %d", k, who, err, n)
		}
		n++
	}
	if n != 5 || m.h.damage.Load() != 0 {
		t.Errorf("%d events of 5 are read, %d damaged", n, m.h.damage.Load())
	}
}

// TestTimesFarApart records events of any distance in time in one chunk.
func TestTimesFarApart(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	w.Record(0, &Event{ID: event.FirstUser}, nil)
	s := w.shard(0)
	ticks := []uint64{s.last}
	for _, step := range []uint64{1, math.MaxUint32 - 2, 1, 1, 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint32 + 2, 1 << 40} {
		// Make the chunk old, instead of waiting.
		s.base -= step
		s.last -= step
		for i := range ticks {
			ticks[i] -= step
		}
		d := m.at(int(s.tag.Load() & idxMask))
		shift(m.bytes(int(s.tag.Load() & idxMask))[:ctl(d.ctl.Load()).off()], d, step)
		now := ticks[len(ticks)-1] + step
		w.Record(0, &Event{ID: event.FirstUser, Tick: now}, nil)
		ticks = append(ticks, now)
	}
	n := 0
	for _, rec := range readAll(t, m.Snapshot()) {
		if rec.Event == event.FirstUser {
			if rec.Tick != ticks[n] {
				t.Errorf("event %d has tick %#x, not %#x", n, rec.Tick, ticks[n])
			}
			n++
		}
	}
	if n != len(ticks) {
		t.Errorf("%d of %d events are read", n, len(ticks))
	}
}

// shift makes everything in a chunk older.
func shift(b []byte, d *desc, by uint64) {
	d.base.Store(d.base.Load() - by)
	for len(b) > 0 {
		h := le64(b)
		n, num := int(uint16(h>>32)), uint16(h>>48)&^chunk.Truncated
		size := chunk.HeaderSize + chunk.Align(n)
		switch num {
		case chunk.KindFull:
			size += chunk.FullSize - chunk.HeaderSize
			fallthrough
		case chunk.KindBase:
			binary.LittleEndian.PutUint64(b[8:], le64(b[8:])-by)
		}
		b = b[size:]
	}
}

// TestLossTotalSaturates checks that losses are counted and reported when their account saturates.
func TestLossTotalSaturates(t *testing.T) {
	t.Run("overwritten", func(t *testing.T) {
		m := newMem(t, 8<<10, Loop)
		w := newWriter(t, m, 1)
		m.Start(w, Event{})
		for i := range m.Chunks {
			d := m.at(i)
			d.lost.Store(d.lost.Load()&^lossMask | (lossMask - 20))
			d.reported.Store(lossMask - 20)
		}
		before := m.Lost()
		r := m.NewReader()
		for round := range 4 {
			n := uint64(0)
			for range 20000 {
				w.Record(0, &Event{ID: event.FirstUser}, nil)
				n++
			}
			reported, read := false, uint64(0)
			for _, rec := range readAll(t, r) {
				reported = reported || rec.Event == event.Overflow
				if rec.Event == event.FirstUser {
					read++
				}
			}
			if !reported {
				t.Errorf("round %d: a loss is not reported", round)
			}
			after := m.Lost()
			if after < before || after-before < n-read || after-before > n-read+1 { // perhaps the START
				t.Errorf("round %d: %d events of %d are read, %d counted as lost", round, read, n, after-before)
			}
			before = after
		}
	})
	for _, policy := range []uint8{Loop, UntilFull} {
		t.Run(fmt.Sprintf("noroom%d", policy), func(t *testing.T) {
			m := newMem(t, 8<<10, policy)
			w := newWriter(t, m, 1)
			m.Start(w, Event{})
			for i := range m.h.lossAccounts {
				a := &m.h.lossAccounts[i]
				a.lost.Store(7<<genShift | maxLost - 5)
				a.reported.Store(maxLost - 5)
			}
			before := m.Lost()
			r := m.NewReader()
			for round := range 6 {
				if policy == Loop {
					m.AddLost(4)
					w.Record(0, &Event{ID: event.FirstUser}, nil) // RESUME stands before it
				} else {
					fill(t, m, w)
					for range 4 {
						w.Record(0, &Event{ID: event.FirstUser}, nil)
					}
				}
				reported := false
				for _, rec := range readAll(t, r) {
					reported = reported || rec.Event == event.Overflow
				}
				if !reported {
					t.Errorf("round %d: a loss is not reported", round)
				}
				if m.Lost() < before {
					t.Errorf("round %d: the count of lost events went back from %d to %d", round, before, m.Lost())
				}
				before = m.Lost()
				m.Restart(w)
			}
		})
	}
}

// TestAllSlotsTaken takes all slots, one more, and all again after the writers have died.
func TestAllSlotsTaken(t *testing.T) {
	m := newMem(t, 8<<10, Loop)
	for round := range uint64(2) {
		for i := 1; i < MaxSlots; i++ {
			if _, ok := m.TakeSlot(sys.Proc{PID: uint32(i), Start: round + 1}, nil); !ok {
				t.Fatalf("round %d: no slot for writer %d", round, i)
			}
		}
		if _, ok := m.TakeSlot(sys.Proc{PID: MaxSlots, Start: 1}, nil); ok {
			t.Errorf("round %d: a slot is taken twice", round)
		}
		alive := func(sys.Proc) bool { return false }
		if _, ok := m.TakeSlot(sys.Proc{PID: MaxSlots, Start: 1}, alive); ok {
			t.Errorf("round %d: the slot of a living writer is taken", round)
		}
		m.Recover(func(sys.Proc) bool { return true })
		if n := len(m.writers()); n != 0 {
			t.Errorf("round %d: %d writers are left", round, n)
		}
	}
}

// TestLargestChunk fills the largest chunk with the smallest events, and with as many sites as fit.
func TestLargestChunk(t *testing.T) {
	g, ok := Measure(64<<20, chunk.MaxData, 2)
	if !ok || g.ChunkSize != chunk.MaxSize {
		t.Fatalf("no chunk is that large: %+v", g)
	}
	for _, sites := range []bool{false, true} {
		m, err := Format(make([]byte, g.Size), &Config{Geometry: g, ID: 1, Attributes: attributes(chunk.MaxData, Loop), Creator: sys.SelfProc()}, true)
		if err != nil {
			t.Fatal(err)
		}
		w := newWriter(t, m, 1)
		m.Start(w, Event{})
		n := uint64(3 * chunk.MaxSize / chunk.HeaderSize)
		for i := range n {
			addr := uint64(1)
			if sites {
				addr = i
			}
			w.Record(0, &Event{ID: event.FirstUser, Addr: addr}, nil)
		}
		got := uint64(0)
		r := m.NewReader()
		var rec chunk.Record
		for r.Next(&rec) {
			if rec.Event == event.FirstUser {
				if sites && rec.Addr != got {
					t.Fatalf("event %d comes from %d", got, rec.Addr)
				}
				got++
			}
		}
		if got != n || m.h.damage.Load() != 0 {
			t.Errorf("%d of %d events are read, %d damaged", got, n, m.h.damage.Load())
		}
	}
}
