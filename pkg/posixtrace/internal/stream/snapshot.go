package stream

import (
	"math"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Snapshot reports the events that a stream held at one instant, merged by time, and changes
// nothing. Later changes of the stream have no influence, except that the filter in force rejects
// marks.
type Snapshot struct {
	merger
	position
	start position // for Rewind
}

// position is the progress of a Snapshot, but for that in the chunks. The machines of marks.go have
// the state that the header had.
type position struct {
	gap       gap
	loss      loss           // unreported, of a LOOP stream
	overflow  uint64         // tick of the pending OVERFLOW, 0 if there is none
	flushStop flushStop      // the next flush will bring it to the log
	end       []chunk.Record // marks of the stop, behind all events
	pending   []byte         // the event of a RESUME that is reported
	last      uint64         // tick of the last event reported
	used      bool           // Next was called
}

// unchanged is the consumer that changes nothing.
type unchanged struct{}

func (unchanged) advance(*cursor) bool { return true }
func (unchanged) finish(*cursor, ctl)  {}
func (unchanged) skip(*cursor, ctl)    {}

// Snapshot returns a copy of everything that can be reported now.
func (m *Mem) Snapshot() *Snapshot {
	s := &Snapshot{merger: newMerger(m, unchanged{})}
	s.last = m.h.lastTick.Load()
	s.gap.end = m.h.gapEnd.Load()
	s.pending = m.pending()
	s.flushStop = flushStop(m.h.flushStop.Load())
	s.scan()
	s.overflow = m.h.pendingOverflow.Load()
	if m.Policy == Loop {
		s.loss = m.unreported()
	} else {
		s.end = m.stopMarks(s.state, 0).marks
	}
	all := s.heap
	s.heap = nil
	for _, k := range all {
		if s.load(k) {
			s.push(k)
		}
	}
	s.start = s.position
	return s
}

// ReportMaps makes Next set Record.Maps; after Rewind, if it was called already.
func (s *Snapshot) ReportMaps() {
	if s.maps = true; !s.used {
		s.Rewind()
	}
}

// Rewind goes back to the first event.
func (s *Snapshot) Rewind() {
	s.position = s.start
	s.heap = s.heap[:0]
	for _, k := range s.cursors {
		if k == nil || !k.loaded {
			continue
		}
		k.cur.Maps = s.maps
		k.cur.Reset(k.buf, k.base)
		k.n, k.dead = 0, false
		s.skipConsumed(k)
		if s.decode(k) {
			s.push(k)
		}
	}
}

// Next reports the next event, with marks (OVERFLOW, RESUME, the automatic STOP, FLUSH_STOP) where
// they belong. The data is valid until the next call. It returns false at the end.
func (s *Snapshot) Next(rec *chunk.Record) bool {
	s.used = true
	if s.reportPending(rec) {
		return true
	}
	k := s.top()
	if k == nil || k.key > s.until {
		return s.atEnd(rec)
	}
	if s.flushStopBefore(rec, k.key) || s.overflowBefore(rec, k.key) || s.resumeBefore(rec, &k.head) {
		return true
	}
	*rec = k.head
	s.noteEvent(rec)
	if s.decode(k) {
		s.down(0)
	} else {
		s.pop()
	}
	return true
}

// noteEvent notes that the event in rec is the next one reported.
func (s *Snapshot) noteEvent(rec *chunk.Record) {
	if rec.Event == event.Overflow {
		s.gap.step(eventOverflow, rec.Tick)
	}
	s.last = max(s.last, rec.Tick)
}

// atEnd reports the marks behind the last event.
func (s *Snapshot) atEnd(rec *chunk.Record) bool {
	if s.flushStopBefore(rec, math.MaxUint64) {
		return true
	}
	if len(s.end) > 0 && s.end[0].Event == event.Stop && s.reportEnd(rec) {
		return true
	}
	return s.overflowBefore(rec, math.MaxUint64) || len(s.end) > 0 && s.reportEnd(rec)
}

// reportEnd reports the next mark of the stop.
func (s *Snapshot) reportEnd(rec *chunk.Record) bool {
	e := s.end[0]
	s.end = s.end[1:]
	if e.Event == event.Overflow {
		s.gap.step(stopLoss, max(e.Tick, s.last))
	}
	return s.report(rec, e)
}

// flushStopBefore reports the FLUSH_STOP that the next flush will bring to the log, before an event
// at tick. By then a process that follows the log would not expect an event so old.
func (s *Snapshot) flushStopBefore(rec *chunk.Record, tick uint64) bool {
	t := uint64(s.flushStop)
	if t > tick {
		return false
	}
	mark := s.flushStop.step(onSnapshot, 0)
	s.flushStop = 0 // this snapshot reports it once
	return mark != noMark && s.mark(rec, mark, t)
}

// overflowBefore reports the OVERFLOW that stands before an event at tick.
func (s *Snapshot) overflowBefore(rec *chunk.Record, tick uint64) bool {
	if o := s.overflow; o != 0 && o <= tick {
		s.overflow = 0
		if s.mark(rec, s.gap.step(stopLoss, max(o, s.last)), o) {
			return true
		}
	}
	if l := s.loss; l.any && l.first <= tick {
		s.loss = loss{}
		return s.mark(rec, s.gap.step(overwritten, l.last), l.first)
	}
	return false
}

// resumeBefore reports the RESUME that stands before event e.
func (s *Snapshot) resumeBefore(rec, e *chunk.Record) bool {
	c := s.gap.cause(e)
	return c != eventOverflow && s.mark(rec, s.gap.step(c, e.Tick), e.Tick)
}

// reportPending reports the pending record, or the RESUME before it.
func (s *Snapshot) reportPending(rec *chunk.Record) bool {
	if s.pending == nil {
		return false
	}
	var e chunk.Record
	ok := s.m.decodePending(s.pending, &e)
	if ok && s.resumeBefore(rec, &e) {
		return true
	}
	s.pending = nil
	if !ok {
		return false
	}
	*rec = e
	s.noteEvent(rec)
	return true
}

// mark reports a mark at tick. It returns false if there is none, or the filter rejects its type.
func (s *Snapshot) mark(rec *chunk.Record, id event.ID, tick uint64) bool {
	return s.report(rec, chunk.Record{Event: id, Tick: tick})
}

// report makes a mark with data.
func (s *Snapshot) report(rec *chunk.Record, mark chunk.Record) bool {
	if mark.Event == noMark || s.m.rejects(mark.Event) {
		return false
	}
	*rec = mark
	rec.Tick = max(mark.Tick, s.last)
	s.last = rec.Tick
	return true
}
