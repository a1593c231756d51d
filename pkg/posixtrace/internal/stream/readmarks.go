package stream

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The marks that a Reader reports. Their state is in the header, for the next process that reads.

// stepGap steps the header's gap machine.
func (m *Mem) stepGap(c gapCause, tick uint64) event.ID {
	g := gap{m.h.gapEnd.Load()}
	old := g
	mark := g.step(c, tick)
	if g != old {
		m.h.gapEnd.Store(g.end)
	}
	return mark
}

// lookForLosses loads the unreported losses, but for those of a stop that is under way.
func (r *Reader) lookForLosses() {
	r.losses = r.m.h.losses.Load()
	r.overflow = r.m.h.pendingOverflow.Load()
	if r.m.Policy == Loop {
		r.loss = r.m.unreported()
	}
}

// overflowBefore reports the OVERFLOW that stands before an event at tick.
func (r *Reader) overflowBefore(rec *chunk.Record, tick uint64) bool {
	m := r.m
	if r.losses != m.h.losses.Load() {
		r.lookForLosses()
	}
	if r.owedOverflow(rec, tick) {
		return true
	}
	if !r.loss.any || r.loss.first > tick {
		return false
	}
	l := m.claimLosses(tick) // nothing, if another reader reported it or the stream was cleared
	r.lookForLosses()
	return l.any && r.mark(rec, m.stepGap(overwritten, l.last), l.first)
}

// owedOverflow reports the pending OVERFLOW of a stop that is over, or of a flush that failed.
func (r *Reader) owedOverflow(rec *chunk.Record, tick uint64) bool {
	o := r.overflow
	if o == 0 || o > tick {
		return false
	}
	r.overflow = 0
	return r.m.h.pendingOverflow.CompareAndSwap(o, 0) && r.mark(rec, r.m.stepGap(stopLoss, max(o, r.last)), o)
}

// resumeBefore reports the RESUME that stands before event e.
func (r *Reader) resumeBefore(rec, e *chunk.Record) bool {
	g := gap{r.m.h.gapEnd.Load()}
	c := g.cause(e)
	return c != eventOverflow && r.mark(rec, r.m.stepGap(c, e.Tick), e.Tick)
}

// stopAtEnd reports the STOP of a stop for lack of room, which stands behind all events recorded
// before it: the last scan has seen the stop, so it has seen those events.
func (r *Reader) stopAtEnd(rec *chunk.Record) bool {
	m := r.m
	if m.stopDue(r.state, atEnd) != event.Stop || m.State()&Full == 0 || !m.claimStop() || m.rejects(event.Stop) {
		return false
	}
	*rec = m.stopMark(max(m.stopTick(), r.last))
	r.noteTick(rec.Tick)
	return true
}

// overflowAtEnd reports the OVERFLOW behind that STOP.
func (r *Reader) overflowAtEnd(rec *chunk.Record) bool {
	m := r.m
	st := m.State()
	if r.state&Full == 0 || (st^r.state)&lossB != 0 || m.stopDue(st, atEnd) != event.Overflow {
		return false
	}
	tick := m.claimStopLoss(m.account(st))
	return tick != 0 && r.mark(rec, m.stepGap(stopLoss, max(tick, r.last)), tick)
}

// reportPending reports the pending record, or a RESUME before it: the pending record of an
// OVERFLOW has a RESUME of its own.
func (r *Reader) reportPending(rec *chunk.Record) bool {
	m := r.m
	if m.h.pendingRecord.Load()&pendingLen == 0 {
		return false
	}
	b := m.pending()
	if b == nil {
		return false
	}
	var e chunk.Record
	ok := m.decodePending(b, &e)
	if ok && r.resumeBefore(rec, &e) {
		return true
	}
	m.dropPending()
	if !ok {
		return false
	}
	*rec = e
	r.noteEvent(rec)
	return true
}

// mark reports a mark at tick. It returns false if there is none, or the filter rejects its type.
func (r *Reader) mark(rec *chunk.Record, id event.ID, tick uint64) bool {
	if id == noMark || r.m.rejects(id) {
		return false
	}
	*rec = chunk.Record{Event: id, Tick: max(tick, r.last)}
	r.noteTick(rec.Tick)
	return true
}
