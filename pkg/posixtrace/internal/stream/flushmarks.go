package stream

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// flushMarks makes the marks of one flush. The stream remembers what was told only when done
// is called, that is when the log has them.
type flushMarks struct {
	m      *Mem
	chunks []piece
	recs   []chunk.Record
	last   []chunk.Record // behind the chunks: a small LOOP log keeps what is written last

	first   bool   // those of the flush itself are among them
	failed  uint64 // tick of the failed flush that an ERROR tells of
	stop    uint64 // tick of the STOP among them
	loss    uint64 // tick of its OVERFLOW
	lost    uint64 // how many were lost by then
	account *account
	within  bool   // the chunks may have OVERFLOW events
	pending uint64 // RESUME is due after this tick
	// The first event after it, if known, and up to which tick that is sure: of what
	// came while the chunks were looked at, older events may be in a later flush than newer ones.
	pendingAt, sure uint64
	flushed         uint64 // pendingAt of the last flush
	resumed         uint64 // tick of the last RESUME
}

// piece is a chunk that is flushed, or will be.
type piece struct {
	b        []byte
	base     uint64
	min, max uint64 // ticks
}

// piece returns what is in a chunk, or a copy of it.
func (m *Mem) piece(b []byte, d *desc) piece {
	p := piece{b: b, base: d.base.Load()}
	p.min, p.max = span(p.b, p.base, 0, d.last.Load())
	return p
}

// newMarks begins the marks that go before chunks.
func (m *Mem) newMarks(chunks []piece) *flushMarks {
	return &flushMarks{m: m, chunks: chunks, pending: m.h.gapEnd.Load(), flushed: m.h.gapNext.Load(), resumed: m.h.lastResume.Load()}
}

// flush adds what is told of the flush itself, which began at tick start, and of the last one.
func (k *flushMarks) flush(start uint64) {
	m := k.m
	k.first = true
	if t := m.h.flushStop.Load(); t != 0 {
		k.add(event.FlushStop, t)
	}
	k.add(event.FlushStart, start)
	k.failed = m.h.failTick.Load()
	if k.failed != 0 && !m.rejects(event.Error) {
		no := binary.LittleEndian.AppendUint32(nil, uint32(m.h.failErrno.Load()))
		k.recs = append(k.recs, chunk.Record{Event: event.Error, Tick: k.failed, Data: no})
	}
}

func (k *flushMarks) add(id event.ID, tick uint64) {
	if !k.m.rejects(id) {
		k.recs = append(k.recs, chunk.Record{Event: id, Tick: tick})
	}
}

func (k *flushMarks) addResume(tick uint64) {
	k.add(event.Resume, tick)
	k.resumed = tick
}

// looped adds what is to be told of a stream that overwrites.
func (k *flushMarks) looped(losses []loss) {
	m := k.m
	pending := k.pending
	if owed := m.h.pendingOverflow.Load(); owed != 0 {
		k.add(event.Overflow, owed)
	}
	if len(losses) > 0 {
		// Should the flush fail, or we die, the next one owes the marks.
		var all loss
		for _, l := range losses {
			all.add(l.first, l.last)
		}
		if pending == 0 {
			m.h.pendingOverflow.Store(max(all.first, 1))
		}
		m.h.gapEnd.Store(max(pending, all.last, 1))
	}
	for _, l := range losses {
		if pending != 0 {
			if t := k.after(pending, l.first); t < l.first {
				k.addResume(t)
				pending = 0
			}
		}
		// Of several writers one may lose what is older than what the log has of the others.
		l.first = max(l.first, k.resumed+1)
		if pending == 0 {
			k.add(event.Overflow, l.first)
		}
		pending = max(pending, l.last, 1)
	}
	k.resume(pending)
}

// stopped adds what is to be told of a stream that stops when it is full. st is
// its state when the flush began, newest the tick of its last event.
func (k *flushMarks) stopped(st, newest uint64) {
	m := k.m
	var due []uint64
	if k.pending != 0 {
		due = append(due, k.pending)
	}
	if owed := m.h.pendingOverflow.Load(); owed != 0 {
		k.add(event.Overflow, owed)
		due = append(due, owed)
	}
	if k.within = m.h.recordedOverflow.Load() != 0; k.within {
		for _, p := range k.chunks {
			p.each(func(r *chunk.Record) {
				if r.Event == event.Overflow {
					due = append(due, r.Tick)
				}
			})
		}
	}
	slices.Sort(due)
	k.pending = 0
	for i, p := range due {
		if i+1 == len(due) {
			k.resume(p)
		} else if t := k.after(p, due[i+1]); t < due[i+1] {
			k.addResume(t)
		}
	}
	if st&Full == 0 {
		return
	}
	// The clocks of two processors may disagree by some nanoseconds.
	stop := max(m.stopTick(), newest+1, m.h.lastTick.Load()+1)
	if st&StopReported == 0 {
		k.stop = stop
		if !m.rejects(event.Stop) {
			k.last = append(k.last, m.stopMark(stop))
		}
	}
	k.account = m.account(st)
	k.lost = k.account.total()
	if first := m.untold(k.account); first != 0 {
		k.loss = max(first, stop)
		if !m.rejects(event.Overflow) {
			k.last = append(k.last, chunk.Record{Event: event.Overflow, Tick: k.loss})
		}
	}
}

// resume adds RESUME if the first event after tick pending is known.
func (k *flushMarks) resume(pending uint64) {
	k.pending = pending
	if pending == 0 {
		return
	}
	t := k.after(pending, math.MaxUint64)
	switch {
	case t == math.MaxUint64:
	case t > k.sure:
		k.pendingAt = t
	default:
		k.addResume(t)
		k.pending = 0
	}
}

// done says that the log has the marks.
func (k *flushMarks) done() {
	h := k.m.h
	if k.first {
		h.flushStop.Store(0)
		h.failTick.CompareAndSwap(k.failed, 0)
	}
	h.pendingOverflow.Store(0)
	if k.within {
		h.recordedOverflow.Store(0)
	}
	h.gapEnd.Store(k.pending)
	h.gapNext.Store(k.pendingAt)
	h.lastResume.Store(k.resumed)
}

// doneLast says that the log has the last of them.
func (k *flushMarks) doneLast() {
	if k.stop != 0 {
		k.m.h.autoStop.Store(k.stop)
		k.m.tellStop()
	}
	if k.loss != 0 {
		k.account.see(k.lost)
		k.account.overflow.Store(1)
		k.m.h.gapEnd.Store(k.loss)
	}
}

// after returns the tick of the first event after tick last, if there is one before
// tick before. A START does not count: RESUME stands after it.
func (k *flushMarks) after(last, before uint64) uint64 {
	first := uint64(math.MaxUint64)
	if k.flushed > last && k.flushed < before {
		first = k.flushed
	}
	for _, p := range k.chunks {
		if p.max > last && p.min < before {
			p.each(func(r *chunk.Record) {
				if r.Tick > last && r.Tick < first && r.Event != event.Start && r.Event != event.Overflow {
					first = r.Tick
				}
			})
		}
	}
	return first
}

// each calls f for the events of the chunk, as far as it makes sense.
func (p *piece) each(f func(*chunk.Record)) {
	var cur chunk.Cursor
	var rec chunk.Record
	cur.Reset(p.b, p.base)
	for {
		if ok, err := cur.Next(&rec); !ok || err != nil {
			return
		}
		f(&rec)
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

// inOrder sorts marks by their times. Of those of one time the order given stays.
func inOrder(marks []chunk.Record) {
	slices.SortStableFunc(marks, func(a, b chunk.Record) int { return cmp.Compare(a.Tick, b.Tick) })
}

// markBlock makes a block of marks, which are in order.
func markBlock(marks []chunk.Record) *Block {
	b := &Block{Index: -1, Count: len(marks), Gen: math.MaxUint32}
	for i := range marks {
		b.Payload = chunk.AppendFull(b.Payload, &marks[i])
	}
	if len(marks) > 0 {
		b.Base, b.Min, b.Max = marks[0].Tick, marks[0].Tick, marks[len(marks)-1].Tick
	}
	return b
}
