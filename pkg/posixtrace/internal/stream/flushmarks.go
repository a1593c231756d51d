package stream

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// A flush copies chunks unmerged, so the first event after a gap may be in a chunk of a later flush:
//
//	events  ----x-x-x---------------a------------------b------->   x: lost
//	              gapEnd                 sure
//
// If the log gets b alone, RESUME waits, because a later flush may bring an event like a; gapNext keeps b.
// RESUME has the time of a, or of b if no flush brings an event up to sure.
//
// The log has OVERFLOW and RESUME, and not the losses, of which its readers could make them:
//
//   - The filter at the time of the flush rejects marks. A log need not show the filter, since the filter
//     may reject FILTER, too.
//   - A Snapshot goes on where the log ends. It has to know whether the log has the RESUME, hence the flush
//     has to look for the event after the gap.
//   - A reader of the log that starts at a time, selects types, or counts block by block would have to read
//     all blocks from the last loss on. One that has dropped earlier blocks (Renew) lacks these.
//   - A count of each loss would not be exact: the account is in the header, the record in the log, and a
//     process killed between the two stores would leave the count out, or count twice.

// flushMarks makes the marks of one flush. It steps copies of the machines of marks.go. The header
// gets their state when the log has the marks: done for those before the chunks, doneLast for those
// behind.
type flushMarks struct {
	m      *Mem
	chunks []piece
	recs   []chunk.Record // before the chunks
	last   stopMarks      // behind the chunks, because a small LOOP log keeps only the last blocks

	first     bool   // this is the first part of the flush: its own marks are in recs
	failed    uint64 // tick of the failed flush that the ERROR in recs reports
	flushStop flushStop
	overflow  uint64 // tick of the pending OVERFLOW that is among recs
	recorded  bool   // the chunks may have OVERFLOW events

	gap        gap
	lastResume uint64 // tick of the last RESUME
	// The first event after the gap, if it is known but later flushes may bring older ones, and
	// up to which tick they cannot: newer events may be flushed before older ones that were
	// recorded while the flush looked at the chunks.
	next, sure uint64
	oldNext    uint64 // next of the flush before
}

// piece is a chunk that is flushed, or will be.
type piece struct {
	b        []byte
	base     uint64
	min, max uint64 // ticks
}

// piece returns b, the content of chunk i, or of a copy of it, with its ticks.
func (m *Mem) piece(b []byte, i int, c ctl) piece {
	d := m.at(i)
	p := piece{b: b, base: d.base.Load()}
	p.min, p.max = span(p.b, p.base, 0, d.notedLast(c))
	return p
}

// newMarks starts the marks that go with chunks. Up to tick sure, no later flush has older events
// than these chunks.
func (fl *flusher) newMarks(chunks []piece, sure uint64) *flushMarks {
	h := fl.m.h
	k := &flushMarks{
		m: fl.m, chunks: chunks, sure: sure, flushStop: flushStop(h.flushStop.Load()),
		gap: fl.gap, oldNext: h.gapNext.Load(), lastResume: h.lastResume.Load(), overflow: fl.overflow,
	}
	if fl.m.Policy != Loop {
		k.overflow = h.pendingOverflow.Load()
	}
	return k
}

// flush adds the marks of the flush itself, which started at tick start, and of the last one.
func (k *flushMarks) flush(start uint64) {
	m := k.m
	k.first = true
	tick := uint64(k.flushStop)
	k.add(k.flushStop.step(flushStarts, 0), tick)
	k.add(event.FlushStart, start)
	k.failed = m.h.failTick.Load()
	if k.failed != 0 && !m.rejects(event.Error) {
		no := binary.LittleEndian.AppendUint32(nil, uint32(m.h.failErrno.Load()))
		k.recs = append(k.recs, chunk.Record{Event: event.Error, Tick: k.failed, Data: no})
	}
}

// add adds a mark, if there is one and the filter does not reject it.
func (k *flushMarks) add(id event.ID, tick uint64) {
	if id != noMark && !k.m.rejects(id) {
		k.recs = append(k.recs, chunk.Record{Event: id, Tick: tick})
	}
}

// resumeUpTo adds the RESUME of the gap, if an event between its end and tick before ends it.
func (k *flushMarks) resumeUpTo(before uint64) {
	if k.gap.state() == noGap {
		return
	}
	if t := k.eventAfterGap(before); t < before {
		k.resume(t)
	}
}

// resume adds the RESUME before the event at tick, which ends the gap.
func (k *flushMarks) resume(tick uint64) {
	if mark := k.gap.step(eventAfter, tick); mark != noMark {
		k.add(mark, tick)
		k.lastResume = tick
	}
}

// overwritten adds the marks of a LOOP stream with losses, which are in order.
func (k *flushMarks) overwritten(losses []loss) {
	if o := k.overflow; o != 0 {
		k.add(k.gap.step(stopLoss, o), o)
	}
	for _, l := range losses {
		k.resumeUpTo(l.first)
		// Of several writers one may lose events older than those that the log has of the others.
		first := max(l.first, k.lastResume+1)
		k.add(k.gap.step(overwritten, l.last), first)
	}
	k.resumeAtEnd()
}

// stopped adds the marks of a stream that stops when it is full. st is its state when the flush
// started, newest the tick of its last event.
func (k *flushMarks) stopped(st, newest uint64) {
	type opening struct {
		cause gapCause
		tick  uint64
	}
	var gaps []opening
	if k.gap.state() == inGap {
		// As if its OVERFLOW were one of the events: other gaps may be older.
		gaps = append(gaps, opening{eventOverflow, k.gap.end})
		k.gap = gap{}
	}
	if o := k.overflow; o != 0 {
		gaps = append(gaps, opening{stopLoss, o})
	}
	if k.recorded = k.m.h.recordedOverflow.Load() != 0; k.recorded {
		for _, p := range k.chunks {
			p.each(func(r *chunk.Record) {
				if r.Event == event.Overflow {
					gaps = append(gaps, opening{eventOverflow, r.Tick})
				}
			})
		}
	}
	slices.SortStableFunc(gaps, func(a, b opening) int { return cmp.Compare(a.tick, b.tick) })
	for _, o := range gaps {
		k.resumeUpTo(o.tick)
		k.add(k.gap.step(o.cause, o.tick), o.tick)
	}
	k.resumeAtEnd()
	// The clocks of two processors may disagree by some nanoseconds.
	k.last = k.m.stopMarks(st, max(newest, k.m.h.lastTick.Load())+1)
}

// resumeAtEnd adds RESUME if the first event after the gap is known.
func (k *flushMarks) resumeAtEnd() {
	if k.gap.state() == noGap {
		return
	}
	switch t := k.eventAfterGap(math.MaxUint64); {
	case t == math.MaxUint64:
	case t > k.sure:
		k.next = t
	default:
		k.resume(t)
	}
}

// done stores the state of the machines, after the log has got the marks before the chunks.
func (k *flushMarks) done() {
	h := k.m.h
	if k.first {
		h.flushStop.Store(uint64(k.flushStop))
		h.failTick.CompareAndSwap(k.failed, 0)
	}
	if k.m.Policy == Loop {
		h.pendingOverflow.Store(0)
	} else {
		h.pendingOverflow.CompareAndSwap(k.overflow, 0) // a loss meanwhile is the next flush's
	}
	if k.recorded {
		h.recordedOverflow.Store(0)
	}
	h.gapEnd.Store(k.gap.end)
	h.gapNext.Store(k.next)
	h.lastResume.Store(k.lastResume)
}

// doneLast ends the marks behind the chunks.
func (k *flushMarks) doneLast() {
	h := k.m.h
	if l := &k.last; l.stop != 0 {
		h.autoStop.Store(l.stop)
		k.m.claimStop()
	}
	if l := &k.last; l.loss != 0 {
		l.account.claimReport(l.lost)
		l.account.overflow.Store(1)
		k.gap.step(stopLoss, l.loss)
		h.gapEnd.Store(k.gap.end)
	}
}

// eventAfterGap returns the tick of the first event that ends the gap, if there is one before tick
// before.
func (k *flushMarks) eventAfterGap(before uint64) uint64 {
	end := k.gap.end
	first := uint64(math.MaxUint64)
	if k.oldNext > end && k.oldNext < before {
		first = k.oldNext
	}
	for _, p := range k.chunks {
		if p.max > end && p.min < before {
			p.each(func(r *chunk.Record) {
				if r.Tick < first && k.gap.cause(r) == eventAfter {
					first = r.Tick
				}
			})
		}
	}
	return first
}

// each calls f for the events of the chunk, as far as they make sense.
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

// stopMarks are the marks behind the events of a stream that has stopped for lack of room, as a
// Snapshot and a flush report them.
type stopMarks struct {
	marks   []chunk.Record
	stop    uint64   // tick of the STOP, 0 if it was reported before
	loss    uint64   // tick of the OVERFLOW, 0 if there is none
	lost    uint64   // how many events it reports
	account *account // of which account
}

// stopMarks returns the marks of the stop under the flags st. None is older than tick oldest. Types
// that the filter rejects are left out of marks.
func (m *Mem) stopMarks(st, oldest uint64) (s stopMarks) {
	state := m.stopState(st)
	a := m.account(st)
	cause := atEnd.withLosses(a)
	for {
		switch state.step(cause) {
		case event.Stop:
			s.stop = max(m.stopTick(), oldest)
			if !m.rejects(event.Stop) {
				s.marks = append(s.marks, m.stopMark(s.stop))
			}
		case event.Overflow:
			s.account, s.lost = a, a.total()
			s.loss = max(m.stopLossTick(a), oldest)
			if !m.rejects(event.Overflow) {
				s.marks = append(s.marks, chunk.Record{Event: event.Overflow, Tick: s.loss})
			}
		default:
			return s
		}
	}
}

// LastMarks is the block of marks that ends a log: the FLUSH_STOP of the last flush.
func (m *Mem) LastMarks() *Block {
	mark, tick := m.stepFlushStop(logEnds, 0)
	if mark == noMark {
		return nil
	}
	return markBlock([]chunk.Record{{Event: mark, Tick: tick}})
}

// LogFullMark is the STOP that ends a full log.
func (m *Mem) LogFullMark() *Block {
	s := stopRecord(m.time(), 2)
	return markBlock([]chunk.Record{s})
}

// inOrder sorts marks by time. Marks of the same time keep their order.
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
