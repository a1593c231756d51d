package stream

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Block is what a flush hands to the log: a chunk as it is, or marks of the
// trace system.
type Block struct {
	Index    int    // of the chunk; -1 for marks
	Gen      uint32 // which use of the chunk; rises, and wraps at 32 bits
	Payload  []byte
	Base     uint64
	Min, Max uint64 // ticks
	Count    int    // events
}

// Harvest is one flush. Every chunk that holds events is closed and handed to
// put, oldest first, preceded by the marks that belong among them; what put has taken
// is free again. It returns the tick up to which everything is out. On an error
// of put the rest stays in the stream. The caller holds the stream's lock.
func (m *Mem) Harvest(slot uint64, put func(*Block) error) (watermark uint64, err error) {
	watermark = m.now()
	for t := time.Now(); time.Since(t) < margin; {
	}
	start := watermark
	type item struct {
		i        int
		c        ctl
		age      uint64
		min, max uint64
		early    bool // it has room left
	}
	var items []item
	// In this order: what is lost before the stream stops is lost by overwriting,
	// and what is recorded before it stops is found below.
	lostTotal := m.h.lost.Load()
	lost := m.unseen()
	st := m.State()
	stopped := st&Full != 0 && st&StopTold == 0
	newest := uint64(0)
	// What nobody appends to is taken first and at once, the oldest before the
	// newer: from here on it can no longer be overwritten, and what is lost so far is older.
	var losses []loss
	tell := func() {
		m.seeEach(math.MaxUint64, func(first, last uint64) {
			lost.add(first, last)
			var l loss
			l.add(first, last)
			losses = append(losses, l)
		})
	}
	if m.Policy == Loop {
		lost = loss{}
		tell()
	}
	seen := make([]ctl, m.Chunks)
	for i := range seen {
		seen[i] = ctl(m.at(i).ctl.Load())
		if seen[i].state().closed() {
			items = append(items, item{i: i, c: seen[i], age: m.ages[i].Load()})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.age, b.age) })
	take := func(it item) bool {
		return !it.c.busy() && m.at(it.i).ctl.CompareAndSwap(uint64(it.c), uint64(it.c.with(slot, leaving)))
	}
	items = slices.DeleteFunc(items, func(it item) bool { return !take(it) })
	if m.Policy == Loop {
		tell()
		slices.SortFunc(losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
	}
	// Then what was being written to at that time.
	deadline := time.Now().Add(patience)
	for i, was := range seen {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		for (was.state() == owned || was.state() == open) && c.gen() == was.gen() && (c.state() == owned || c.state() == open) {
			if c.busy() {
				if time.Now().After(deadline) {
					break
				}
				time.Sleep(20 * time.Microsecond)
			} else if c.count() == 0 || m.retire(i, c) {
				c = ctl(d.ctl.Load())
				break
			}
			c = ctl(d.ctl.Load())
		}
		if c.busy() {
			// Its writer was stopped half-way; the chunk goes with a later flush.
			if t := d.base.Load(); t < watermark {
				watermark = t
			}
			continue
		}
		if it := (item{i: i, c: c, age: m.ages[i].Load(), early: true}); c.gen() == was.gen() && c.state().closed() && take(it) {
			items = append(items, it)
		}
	}
	for j := range items {
		it := &items[j]
		it.min, it.max = span(m.bytes(it.i)[:min(it.c.off(), m.ChunkSize)], m.at(it.i).base.Load(), 0, m.at(it.i).last.Load())
		newest = max(newest, it.max)
	}
	sent := 0
	defer func() {
		// What was taken for this flush and stays must not be lost as room.
		for _, it := range items[sent:] {
			if m.at(it.i).ctl.CompareAndSwap(uint64(it.c.with(slot, leaving)), uint64(it.c)) && it.early {
				m.loosen(it.i, it.c)
			}
		}
	}()
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.age, b.age) })

	// The marks.
	var marks []chunk.Record
	add := func(id event.ID, tick uint64) {
		if !m.rejects(id) {
			marks = append(marks, chunk.Record{Event: id, Tick: tick})
		}
	}
	if t := m.h.flushStop.Load(); t != 0 {
		add(event.FlushStop, t)
	}
	add(event.FlushStart, start)
	failed := m.h.errTick.Load()
	if failed != 0 && !m.rejects(event.Error) {
		no := binary.LittleEndian.AppendUint32(nil, uint32(m.h.errNo.Load()))
		marks = append(marks, chunk.Record{Event: event.Error, Tick: failed, Data: no})
	}
	stop := max(m.h.autoStop.Load(), newest)
	if stopped && !m.rejects(event.Stop) {
		marks = append(marks, m.stopMark(stop))
	}
	// after is the first event after a loss, if there is one before the next loss.
	after := func(last, before uint64) uint64 {
		first := uint64(math.MaxUint64)
		for _, it := range items {
			if it.max > last && it.min < before {
				first = min(first, firstAfter(m.bytes(it.i)[:min(it.c.off(), m.ChunkSize)], m.at(it.i).base.Load(), last))
			}
		}
		return first
	}
	pending := m.h.resume.Load()
	if owed := m.h.owed.Load(); owed != 0 {
		add(event.Overflow, owed)
	}
	if m.Policy == Loop {
		if lost.any {
			// Should the flush fail, or we die, the next one owes the marks.
			if pending == 0 {
				m.h.owed.Store(max(lost.first, 1))
			}
			m.h.resume.Store(max(pending, lost.last, 1))
		}
	} else if lost.any {
		if stopped && lost.first < m.h.stopFirst.Load() && lost.first < newest {
			// What was lost before the last restart is another loss.
			losses = append(losses, loss{first: lost.first, last: lost.first})
			lost.first = stop
		}
		if stopped {
			lost.first = max(lost.first, stop)
		}
		if lost.last >= m.h.stopFirst.Load() || !stopped {
			losses = append(losses, lost)
		}
	}
	for _, l := range losses {
		if pending != 0 {
			if t := after(pending, l.first); t < l.first {
				add(event.Resume, t)
				pending = 0
			}
		}
		if pending == 0 {
			add(event.Overflow, l.first)
		}
		pending = max(pending, l.last, 1)
	}
	if pending != 0 {
		if t := after(pending, math.MaxUint64); t != math.MaxUint64 {
			add(event.Resume, t)
			pending = 0
		}
	}
	if err = put(markBlock(marks)); err != nil {
		return 0, err
	}
	m.h.flushStop.Store(0)
	m.h.owed.Store(0)
	m.h.errTick.CompareAndSwap(failed, 0)
	if stopped {
		m.change(StopTold, 0)
	}
	switch {
	case m.Policy == Loop:
	case stopped && pending != 0:
		// What was lost since then belongs to the same loss.
		if l := m.see(math.MaxUint64); l.any {
			pending = max(pending, l.last)
		}
	case lost.any:
		// What was lost since then is another loss, and not yet told.
		m.h.lostFirst.Store(0)
		if m.h.lost.Load() != lostTotal {
			m.h.lostFirst.Store(m.h.autoStop.Load())
		}
		m.h.lostSeen.Store(lostTotal)
	}
	m.h.resume.Store(pending)

	buf := make([]byte, m.ChunkSize)
	for _, it := range items {
		n := min(it.c.off(), m.ChunkSize)
		// A copy, because its checksum must be that of what is written, whoever
		// scribbles over the stream meanwhile.
		snapshot(buf[:n], m.bytes(it.i)[:n])
		b := Block{Index: it.i, Gen: uint32(it.c.gen()) << (32 - genBits), Payload: buf[:n], Base: m.at(it.i).base.Load(), Count: it.c.count()}
		b.Min, b.Max = it.min, it.max
		if err = put(&b); err != nil {
			return 0, err
		}
		sent++
		m.drop(it.i, it.c.with(slot, leaving))
	}
	m.h.loopFull.Store(0)
	if !m.rejects(event.FlushStop) {
		m.h.flushStop.Store(m.now())
	}
	return watermark, nil
}

// firstAfter returns the tick of the first event after a loss that ended at
// tick last. A START does not count: RESUME stands after it.
func firstAfter(b []byte, base, last uint64) (first uint64) {
	var cur chunk.Cursor
	var rec chunk.Record
	first = math.MaxUint64
	cur.Reset(b, base)
	for {
		if ok, err := cur.Next(&rec); !ok || err != nil {
			return
		}
		if rec.Tick > last && rec.Event != event.Start {
			first = min(first, rec.Tick)
		}
	}
}

// LastMarks is the block of marks that ends a log: the FLUSH_STOP of the last flush.
func (m *Mem) LastMarks() *Block {
	t := m.h.flushStop.Swap(0)
	if t == 0 {
		return nil
	}
	return markBlock([]chunk.Record{{Event: event.FlushStop, Tick: t}})
}

// LogFullMark is the STOP that ends a full log.
func (m *Mem) LogFullMark() *Block {
	s := stopRecord(m.now(), 2)
	return markBlock([]chunk.Record{s})
}

func markBlock(marks []chunk.Record) *Block {
	slices.SortStableFunc(marks, func(a, b chunk.Record) int {
		switch {
		case a.Tick < b.Tick:
			return -1
		case a.Tick > b.Tick:
			return 1
		}
		return 0
	})
	b := &Block{Index: -1, Count: len(marks), Gen: math.MaxUint32}
	for i := range marks {
		b.Payload = chunk.AppendFull(b.Payload, &marks[i])
	}
	if len(marks) > 0 {
		b.Base, b.Min, b.Max = marks[0].Tick, marks[0].Tick, marks[len(marks)-1].Tick
	}
	return b
}

// The words by which a flush is asked for and told about.

// FlushWanted reports a request that has not been served.
func (m *Mem) FlushWanted() (ticket uint32, wanted bool) {
	a := m.h.flushAsk.Load()
	return a, a != m.h.flushDone.Load()
}

// AskFlush asks the owner for a flush and returns the ticket to wait for.
func (m *Mem) AskFlush() uint32 { return m.h.flushAsk.Add(1) }

// AskClear asks the owner, who alone has the log, to clear the stream; the ticket
// is one of a flush.
func (m *Mem) AskClear() uint32 {
	m.h.clearAsk.Store(1)
	return m.AskFlush()
}

// ClearWanted takes a request to clear the stream.
func (m *Mem) ClearWanted() bool { return m.h.clearAsk.Swap(0) != 0 }

// FlushServed tells that requests up to ticket are done with result errno.
func (m *Mem) FlushServed(ticket, errno uint32) {
	m.h.flushRes.Store(errno)
	m.h.flushDone.Store(ticket)
}

// FlushDone reports whether ticket has been served, and how.
func (m *Mem) FlushDone(ticket uint32) (errno uint32, done bool) {
	done = int32(m.h.flushDone.Load()-ticket) >= 0
	return m.h.flushRes.Load(), done
}

// AskShutdown asks the owner to shut the stream down.
func (m *Mem) AskShutdown()         { m.h.shutAsk.Store(1) }
func (m *Mem) ShutdownWanted() bool { return m.h.shutAsk.Load() != 0 }

// SetFlushing marks that a flush is under way, or over.
func (m *Mem) SetFlushing(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	m.h.flushing.Store(v)
}

// FlushFailed keeps the first error of a flush since the status was read.
func (m *Mem) FlushFailed(errno uint32) { m.h.flushErr.CompareAndSwap(0, errno) }

// AutoFlushFailed is for flushes that nobody has asked for: the first that does
// not fail tells of those before by an ERROR event.
func (m *Mem) AutoFlushFailed(errno uint32) {
	if m.h.errTick.Load() == 0 {
		m.h.errNo.Store(uint64(errno))
		m.h.errTick.Store(max(m.now(), 1))
	}
}

// LogLost accounts for events that the log did not take.
func (m *Mem) LogLost(n int) {
	if n > 0 {
		m.h.logLost.Add(uint64(n))
		m.h.logOverrun.Store(1)
	}
}

// LogOverrun notes that a log has begun to overwrite.
func (m *Mem) LogOverrun() { m.h.logOverrun.Store(1) }

// SetLogFull notes that the log is full; stop also suspends the stream. What is
// generated from then on counts as lost, unless the stream was suspended
// already.
func (m *Mem) SetLogFull(stop bool) {
	m.h.logFull.Store(1)
	if stop && m.change(LogFull, Running|Full)&(Running|Full|LogFull) == 0 {
		m.change(NoRestart, 0)
	}
}

// Seq counts the chunks claimed since the stream was created: how busy it is.
func (m *Mem) Seq() uint64 { return m.h.seq.Load() }

// Pending reports whether there is anything to flush.
func (m *Mem) Pending() bool {
	for i := range m.Chunks {
		c := ctl(m.at(i).ctl.Load())
		if c.count() > 0 && c.state() >= owned {
			return true
		}
	}
	return false
}

// Unflushed counts the events that the stream still holds.
func (m *Mem) Unflushed() (n int) {
	for i := range m.Chunks {
		if c := ctl(m.at(i).ctl.Load()); c.state() >= owned {
			n += c.count()
		}
	}
	return
}

// Damaged counts a chunk that did not make sense.
func (m *Mem) Damaged() { m.h.damage.Add(1) }
