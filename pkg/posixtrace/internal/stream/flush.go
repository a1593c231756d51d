package stream

import (
	"cmp"
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
	// A chunk of a LOOP stream may be overwritten until it is taken, so there
	// the first event after a loss is looked for later, block by block.
	loop := m.Policy == Loop
	resumeAt, resume := uint64(math.MaxUint64), m.h.resume.Load()
	loss := m.unseen()
	lastLost := max(resume, loss.last)
	newest := uint64(0)
	deadline := time.Now().Add(patience)
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		early := false
		for c.state() == owned || c.state() == open || c.state() == loose {
			if c.busy() {
				if time.Now().After(deadline) {
					break
				}
				time.Sleep(20 * time.Microsecond)
			} else if c.count() == 0 || m.retire(i, c) {
				early = true
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
		if c.state() != full {
			continue
		}
		b := m.bytes(i)[:min(c.off(), m.ChunkSize)]
		it := item{i: i, c: c, age: m.ages[i].Load(), early: early}
		it.min, it.max = span(b, d.base.Load(), 0, 0)
		newest = max(newest, it.max)
		if !loop && (loss.any || resume != 0) && it.max > lastLost {
			resumeAt = min(resumeAt, firstAfter(b, d.base.Load(), lastLost))
		}
		items = append(items, it)
	}
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
	st := m.State()
	stopped := st&Full != 0 && st&StopTold == 0
	stop := max(m.h.autoStop.Load(), newest)
	if stopped && !m.rejects(event.Stop) {
		marks = append(marks, m.stopMark(stop, 1))
	}
	if loss.any && resume == 0 {
		first := loss.first
		if stopped {
			first = max(first, stop)
		}
		add(event.Overflow, first)
	}
	if resumeAt != math.MaxUint64 {
		add(event.Resume, resumeAt)
	}
	if err = put(markBlock(marks)); err != nil {
		return 0, err
	}
	m.h.flushStop.Store(0)
	if stopped {
		m.change(StopTold, 0)
	}
	if loss.any {
		// What was lost since then is told as well, without a second OVERFLOW.
		m.h.resume.Store(max(lastLost, m.see().last))
	}
	if resumeAt != math.MaxUint64 {
		m.h.resume.Store(0)
	}

	buf := make([]byte, m.ChunkSize)
	defer func() {
		// What was closed for this flush and stays must not be lost as room.
		for _, it := range items {
			if c := ctl(m.at(it.i).ctl.Load()); err != nil && it.early && c == it.c {
				m.loosen(it.i, c)
			}
		}
	}()
	for _, it := range items {
		d := m.at(it.i)
		taken := it.c.with(slot, leaving)
		if !d.ctl.CompareAndSwap(uint64(it.c), uint64(taken)) {
			continue // overwritten, and counted as lost
		}
		n := min(it.c.off(), m.ChunkSize)
		// A copy, because its checksum must be that of what is written, whoever
		// scribbles over the stream meanwhile.
		snapshot(buf[:n], m.bytes(it.i)[:n])
		b := Block{Index: it.i, Gen: uint32(it.c.gen()) << (32 - genBits), Payload: buf[:n], Base: d.base.Load(), Count: it.c.count()}
		b.Min, b.Max = span(b.Payload, b.Base, 0, 0)
		if at := m.h.resume.Load(); loop && at != 0 && b.Max > at {
			if t := firstAfter(b.Payload, b.Base, at); t != math.MaxUint64 {
				if !m.rejects(event.Resume) {
					err = put(markBlock([]chunk.Record{{Event: event.Resume, Tick: t}}))
				}
				if err == nil {
					m.h.resume.Store(0)
				}
			}
		}
		if err == nil {
			err = put(&b)
		}
		if err != nil {
			d.ctl.CompareAndSwap(uint64(taken), uint64(it.c))
			return 0, err
		}
		m.drop(it.i, taken)
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
	s := m.stopMark(m.now(), 2)
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
