package stream

import (
	"math"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Reader consumes a stream: it reports each event once, merged by time, and makes room. The caller
// ensures that there is one at a time (LockReader).
type Reader struct {
	merger
	loss     loss   // unreported, of a LOOP stream
	overflow uint64 // tick of a pending OVERFLOW, 0 if there is none
	losses   uint64 // how many losses loss and overflow include
	clears   uint64 // how often the stream had been cleared at the last call
	last     uint64 // tick of the last event reported
}

// NewReader returns a reader.
func (m *Mem) NewReader() *Reader {
	r := &Reader{last: m.h.lastTick.Load()}
	r.merger = newMerger(m, r)
	return r
}

// Held reports, once, whether a scan has waited in vain for a writer in the middle of an event. If
// that writer is dead, every scan will, until Recover.
func (r *Reader) Held() bool {
	held := r.held
	r.held = false
	return held
}

// Copies counts how often the reader has copied something from the stream. Events reported between
// two copies are of the earlier one, or of copies before.
func (r *Reader) Copies() uint64 { return r.copies }

// maxScans bounds how often one Next looks at the chunks anew: a hostile process may change them
// all the time.
const maxScans = 64

// Next reports the next event, with marks (OVERFLOW, RESUME, the automatic STOP) where they
// belong. The data is valid until the next call. It returns false when nothing is ready.
func (r *Reader) Next(rec *chunk.Record) bool {
	if n := r.m.h.clears.Load(); n != r.clears {
		// The events that the reader has copied do not exist any more.
		r.clears = n
		r.heap, r.loss = r.heap[:0], loss{}
		clear(r.cursors)
	}
	if r.reportPending(rec) {
		return true
	}
	for scans := 0; ; {
		k := r.top()
		if k == nil || k.key > r.until {
			// Looking again and again makes sense while a LOOP stream is faster than the reader.
			if scans++; scans > maxScans || !r.rescan() {
				return r.idle(rec)
			}
			k = r.top()
		}
		if !k.loaded {
			r.loadTop(k)
			continue
		}
		if k.key > r.until {
			return r.idle(rec)
		}
		if r.overflowBefore(rec, k.key) {
			return true
		}
		if !r.advance(k) {
			r.cursors[k.i] = nil
			if r.pop(); ctl(r.m.at(k.i).ctl.Load()).gen() == k.gen {
				r.heap = r.heap[:0] // another reader has consumed some of the chunk, and left some
			}
			r.emptied(k)
			continue
		}
		r.report(rec, k)
		return true
	}
}

// rescan looks at the chunks anew. It reports whether there is an event.
func (r *Reader) rescan() bool {
	r.m.fill()
	r.scan()
	r.lookForLosses()
	return len(r.heap) > 0
}

// loadTop loads the cursor on top of the heap.
func (r *Reader) loadTop(k *cursor) {
	if r.load(k) {
		r.down(0)
		return
	}
	r.pop()
	r.emptied(k)
}

// report reports the event at k, which is on top of the heap and consumed, or the mark before it.
func (r *Reader) report(rec *chunk.Record, k *cursor) {
	// By now more may be known of losses before the event.
	var mark chunk.Record
	marked := r.overflowBefore(&mark, k.key) || r.resumeBefore(&mark, &k.head)
	*rec = k.head
	if !marked || !r.m.setPending(rec, r.clears) {
		r.noteEvent(rec)
		marked = false
	}
	r.step(k)
	if marked {
		*rec = mark
	}
}

// step moves the cursor on top of the heap on to its next event.
func (r *Reader) step(k *cursor) {
	m := r.m
	if r.decode(k) ||
		!k.dead && len(k.buf) < min(k.end, ctl(m.at(k.i).ctl.Load()).off()) && r.load(k) {
		r.down(0)
		return
	}
	r.pop()
	r.emptied(k)
	if c := ctl(m.at(k.i).ctl.Load()); c.gen() == k.gen {
		if k.dead {
			r.skip(k, c)
		} else if c.count() == k.n {
			r.finish(k, c)
		}
	}
}

// idle reports the marks that stand behind the last event.
func (r *Reader) idle(rec *chunk.Record) bool {
	if len(r.heap) > 0 {
		return false // there are events, too young to be distinguished from those to come
	}
	return r.stopAtEnd(rec) || r.overflowBefore(rec, math.MaxUint64) || r.overflowAtEnd(rec)
}

// noteEvent notes that the event in rec is the next one reported.
func (r *Reader) noteEvent(rec *chunk.Record) {
	if rec.Event == event.Overflow {
		r.m.stepGap(eventOverflow, rec.Tick)
	}
	if rec.Tick < r.last {
		r.m.h.late.Add(1)
	} else {
		r.noteTick(rec.Tick)
	}
}

// noteTick notes the tick of the last event or mark.
func (r *Reader) noteTick(tick uint64) {
	r.last = tick
	r.m.h.lastTick.Store(tick)
}

// advance notes in the stream that one more event of the chunk is consumed. It returns false when
// the event is not the reader's to report: it was overwritten, cleared, or reported by another
// process, which had its turn as the reader.
func (r *Reader) advance(k *cursor) bool {
	d := r.m.at(k.i)
	for {
		w := readWord(d.read.Load())
		if w.gen() != k.gen || w.frozen() || w.count() >= k.n {
			return false
		}
		if d.read.CompareAndSwap(uint64(w), uint64(w.at(k.n, k.cur.Offset()))) {
			return true
		}
	}
}

// skip gives up the rest of a damaged chunk, so that the chunk does not hold up the stream: nothing
// behind the damage can be decoded.
func (r *Reader) skip(k *cursor, c ctl) {
	d := r.m.at(k.i)
	if w := readWord(d.read.Load()); w.gen() == k.gen && !w.frozen() && w.count() < c.count() &&
		d.read.CompareAndSwap(uint64(w), uint64(w.at(c.count(), c.off()))) {
		r.m.addRuined(c.count() - w.count())
	}
	r.finish(k, c)
}

// finish frees a chunk of which everything has been reported, when no writer
// writes to it.
func (r *Reader) finish(k *cursor, c ctl) {
	if c.state() == open && !c.busy() && !r.m.registered(k.i) && r.m.retire(k.i, c) {
		c = ctl(r.m.at(k.i).ctl.Load())
	}
	if c.state().closed() && !c.busy() {
		r.m.drop(k.i, c)
		r.m.h.loopFull.Store(0)
	}
}

// registered reports whether writers still find open chunk i.
func (m *Mem) registered(i int) bool {
	for o := range m.OpenChunks {
		if m.replaces(m.h.openTable[o].Load()) == uint64(i+1) {
			return true
		}
	}
	return false
}

// LockReader makes me, which is not 0, the process that consumes the stream, for the time of one
// read. It waits for another reader for a bounded time, and replaces one that dead reports to be
// gone.
func (m *Mem) LockReader(me uint64, dead func(uint64) bool) bool {
	deadline := time.Now().Add(patience)
	for !m.h.readLock.CompareAndSwap(0, me) {
		if time.Now().After(deadline) {
			if old := m.h.readLock.Load(); old != 0 && dead(old) && m.h.readLock.CompareAndSwap(old, me) {
				return true
			}
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
	return true
}

// UnlockReader ends the turn that LockReader has started.
func (m *Mem) UnlockReader() { m.h.readLock.Store(0) }
