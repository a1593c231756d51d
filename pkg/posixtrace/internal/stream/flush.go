package stream

import (
	"cmp"
	"math"
	"slices"
	"time"

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
	start, looked := watermark, watermark
	type item struct {
		i        int
		c        ctl
		age      uint64
		min, max uint64
		early    bool // it has room left
	}
	var items []item
	// Before the chunks are looked at: what was recorded before the stream stopped is found below.
	st := m.State()
	if st&Full != 0 {
		start = m.after(m.stopTick())
	}
	newest := uint64(0)
	// What nobody appends to is taken first and at once, the oldest before the
	// newer: from here on it can no longer be overwritten, and what is lost so far is older.
	var losses []loss
	tell := func() {
		m.seeEach(math.MaxUint64, func(first, last uint64) {
			var l loss
			l.add(first, last)
			losses = append(losses, l)
		})
	}
	if m.Policy == Loop {
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
	taken := make([]bool, m.Chunks)
	for _, it := range items {
		taken[it.i] = true
	}
	// Then what was being written to at that time.
	var chunks []piece
	deadline := time.Now().Add(patience)
	for i, was := range seen {
		if taken[i] || was.state() < owned {
			continue
		}
		d := m.at(i)
		c := ctl(d.ctl.Load())
		for c.gen() == was.gen() && (c.state() == owned || c.state() == open) {
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
		if c.gen() != was.gen() {
			continue
		}
		if c.busy() {
			// Its writer was stopped half-way; the chunk goes with a later flush. What is in it
			// may be the first after a loss.
			p := m.piece(i, c)
			watermark = min(watermark, p.base)
			chunks = append(chunks, p)
			continue
		}
		if it := (item{i: i, c: c, age: m.ages[i].Load(), early: true}); c.state().closed() && take(it) {
			items = append(items, it)
		}
	}
	for j := range items {
		it := &items[j]
		p := m.piece(it.i, it.c)
		it.min, it.max = p.min, p.max
		newest = max(newest, it.max)
		chunks = append(chunks, p)
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

	marks := m.newMarks(start, chunks)
	if marks.sure = math.MaxUint64; st&Running != 0 {
		marks.sure = looked
	}
	if m.Policy == Loop {
		marks.looped(losses)
	} else {
		marks.stopped(st, newest)
	}
	if err = put(markBlock(marks.recs)); err != nil {
		return 0, err
	}
	marks.done()
	m.h.drained.Store(watermark)

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
	m.h.lastTick.Store(max(m.h.lastTick.Load(), min(newest, m.now())))
	m.h.loopFull.Store(0)
	if !m.rejects(event.FlushStop) {
		m.h.flushStop.Store(m.now())
	}
	return watermark, nil
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
