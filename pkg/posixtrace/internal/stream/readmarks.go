package stream

import (
	"math"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The marks that a reader reports: STOP, OVERFLOW, RESUME, FLUSH_STOP. Those of a log are
// made by flushMarks.

// look finds out what is lost.
func (r *Reader) look() {
	r.losses = r.m.h.losses.Load()
	if r.m.Policy == Loop {
		r.loss = r.m.unseen()
		return
	}
	if o := r.m.h.pendingOverflow.Load(); o != r.paid {
		r.owed = o
	}
	r.loss = loss{}
	if r.state&Full != 0 && (r.consume || r.over != r.m.h.stop()) {
		r.loss.first = r.m.untold(r.m.account(r.state))
		r.loss.any = r.loss.first != 0
	}
}

// overflow reports the OVERFLOW that stands before the event at k, which is nil
// at the end.
func (r *Reader) overflow(rec *chunk.Record, k *cursor) bool {
	m := r.m
	if r.consume {
		r.pending = m.h.gapEnd.Load()
	}
	if !r.frozen && r.losses != m.h.losses.Load() {
		r.look()
	}
	if m.Policy != Loop {
		return r.overflowStopped(rec, k)
	}
	if !r.loss.any || k != nil && r.loss.first > k.key {
		return false
	}
	inside := r.pending != 0
	l := r.loss
	r.loss = loss{}
	if r.consume {
		before := uint64(math.MaxUint64)
		if k != nil {
			before = k.key
		}
		l = m.see(before) // nothing, if another reader told it or the stream was cleared
		r.look()
	}
	if l.any {
		r.resumeAfter(l.last)
	}
	return l.any && !inside && r.mark(rec, event.Overflow, l.first)
}

// overflowStopped is overflow for a stream that stops when it is full: OVERFLOW stands behind
// the STOP.
func (r *Reader) overflowStopped(rec *chunk.Record, k *cursor) bool {
	m := r.m
	if o := r.owed; o != 0 && (k == nil || o <= k.key) {
		r.owed, r.paid = 0, o
		if !r.consume || m.h.pendingOverflow.CompareAndSwap(o, 0) {
			r.resumeAfter(max(o, r.last))
			return r.mark(rec, event.Overflow, o)
		}
	}
	if k != nil || !r.loss.any || !r.frozen && m.State()&Full == 0 {
		return false
	}
	if r.consume && m.State()&StopReported == 0 || !r.consume && r.state&StopReported == 0 && r.stop != m.h.stop() {
		return false
	}
	first := r.loss.first
	r.loss = loss{}
	if r.consume {
		if first = m.tellLoss(m.account(r.state)); first == 0 {
			return false
		}
	} else {
		r.over = m.h.stop()
	}
	r.resumeAfter(max(first, r.last))
	return r.mark(rec, event.Overflow, first)
}

// stopped reports the automatic STOP, which stands behind everything that was
// recorded before.
func (r *Reader) stopped(rec *chunk.Record) bool {
	m := r.m
	if r.state&(Full|StopReported) != Full || !r.frozen && m.State()&Full == 0 {
		return false
	}
	if r.consume && !m.tellStop() {
		return false
	}
	if !r.consume {
		if r.stop == m.h.stop() {
			return false
		}
		r.stop = m.h.stop()
	}
	if m.rejects(event.Stop) {
		return false
	}
	*rec = m.stopMark(max(m.stopTick(), r.last))
	r.told(rec.Tick)
	return true
}

// flushed reports the FLUSH_STOP that the next flush will bring to the log, before an event of
// tick key. Who follows the log would not look for an event so old by then.
func (r *Reader) flushed(rec *chunk.Record, key uint64) bool {
	t := r.flush
	if t == 0 || t > key {
		return false
	}
	r.flush = 0
	return r.mark(rec, event.FlushStop, t)
}

// resume reports the RESUME that stands before the event at k.
func (r *Reader) resume(rec *chunk.Record, k *cursor) bool {
	if r.pending == 0 || k.key <= r.pending || k.head.Event == event.Start || k.head.Event == event.Overflow {
		return false
	}
	r.pending = 0
	if r.consume {
		r.m.h.gapEnd.Store(0)
	}
	return r.mark(rec, event.Resume, k.key)
}

// resumeAfter makes RESUME due before the first event after tick.
func (r *Reader) resumeAfter(tick uint64) {
	r.pending = max(r.pending, tick, 1)
	if r.consume {
		r.m.h.gapEnd.Store(r.pending)
	}
}

// mark reports a mark of tick, unless its type is rejected.
func (r *Reader) mark(rec *chunk.Record, id event.ID, tick uint64) bool {
	if r.m.rejects(id) {
		return false
	}
	*rec = chunk.Record{Event: id, Tick: max(tick, r.last)}
	r.told(rec.Tick)
	return true
}
