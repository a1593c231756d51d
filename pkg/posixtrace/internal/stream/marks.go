package stream

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Marks are the events that the trace system adds when events are read or flushed: OVERFLOW and
// RESUME around a gap, the STOP of a stream that ran out of room, FLUSH_STOP behind a flush. They
// take no room in the stream. Their state is a few words of the header (markWords); the rules are
// the three machines below, each a table of state and cause. An entry is the mark to report and
// the next state, "-" no mark.
//
// Three kinds of consumers step the machines: a Reader, which keeps the state in the header, a
// Snapshot, which has a copy of it, and a flush (flushMarks), which writes the state back when the
// log has the marks. A filter that rejects a mark's type drops the mark and changes no state.
//
// The gap, for any policy. A gap ends at a tick; RESUME is due before the first event after it.
//
//	           overwritten       stop loss         event after gap   event within    OVERFLOW in chunk
//	no gap     OVERFLOW, gap     OVERFLOW, gap     -                 -               -, gap
//	gap        -, gap extends    OVERFLOW, gap     RESUME, no gap    -               -, gap extends
//
// Under LOOP the losses of one gap are one: whatever is overwritten before RESUME extends it.
// Under the other policies each stop has an OVERFLOW of its own. A START does not end a gap: RESUME
// stands after it.
//
// The stop for lack of room, under the policies that do not overwrite. A consumer steps this machine
// when it has reported every event; the START of the next run does so for marks that no consumer
// has reported by then, and records them in front of itself.
//
//	                end of events     end, with losses    start             start, with losses
//	running         -                 -                   -                 -
//	stopped         STOP, reported    STOP, reported      STOP, reported    STOP, reported
//	stop reported   -                 OVERFLOW, loss      -, running        OVERFLOW, loss
//	loss reported   -                 -                   -, running        -, running
//
// "With losses" means that the account of the stop has unreported losses. Losses after the
// OVERFLOW are counted, and belong to the same gap.
//
// The end of a flush. The log gets FLUSH_STOP with the next flush, since a flush is over only when
// the log has everything else.
//
//	           flush starts       flush ends    log ends           snapshot      clear
//	none       -                  -, due        -                  -             -
//	due        FLUSH_STOP, none   -, due        FLUSH_STOP, none   FLUSH_STOP    -, none
//
// FLUSH_START and ERROR have no state of their own: each flush makes a FLUSH_START, and one ERROR
// if an automatic flush has failed since the last.

// Gaps.

type gapState uint8

const (
	noGap gapState = iota
	inGap
	gapStates
)

type gapCause uint8

const (
	overwritten   gapCause = iota // events were lost under LOOP
	stopLoss                      // events were lost in a stop for lack of room
	eventAfter                    // the next event ends the gap, if there is one
	eventWithin                   // the next event is older than the end of the gap, or a START
	eventOverflow                 // the next event is an OVERFLOW that a start has recorded
	gapCauses
)

// noMark is the mark of an entry that has none.
const noMark event.ID = 0

var gapRules = [gapStates][gapCauses]struct {
	mark event.ID
	next gapState
}{
	noGap: {
		overwritten:   {event.Overflow, inGap},
		stopLoss:      {event.Overflow, inGap},
		eventAfter:    {noMark, noGap},
		eventWithin:   {noMark, noGap},
		eventOverflow: {noMark, inGap},
	},
	inGap: {
		overwritten:   {noMark, inGap},
		stopLoss:      {event.Overflow, inGap},
		eventAfter:    {event.Resume, noGap},
		eventWithin:   {noMark, inGap},
		eventOverflow: {noMark, inGap},
	},
}

// gap is the first machine. The zero value is no gap.
type gap struct {
	end uint64 // tick, 0 if there is no gap
}

func (g gap) state() gapState {
	if g.end != 0 {
		return inGap
	}
	return noGap
}

// step returns the mark of a cause, and goes to the next state. The gap extends to tick, if there
// is one then.
func (g *gap) step(c gapCause, tick uint64) event.ID {
	rule := gapRules[g.state()][c]
	switch {
	case rule.next == noGap:
		g.end = 0
	case c != eventWithin:
		g.end = max(g.end, tick, 1)
	}
	return rule.mark
}

// cause classifies the next event, rec.
func (g gap) cause(rec *chunk.Record) gapCause {
	switch {
	case rec.Event == event.Overflow:
		return eventOverflow
	case rec.Event == event.Start, rec.Tick <= g.end:
		return eventWithin
	}
	return eventAfter
}

// Stops for lack of room.

type stopState uint8

const (
	running      stopState = iota
	stopped                // STOP is due
	stopReported           // STOP is reported
	lossReported           // the OVERFLOW behind it, too
	stopStates
)

type stopCause uint8

const (
	atEnd       stopCause = iota // every event is reported
	atEndLost                    // and the stop has unreported losses
	atStart                      // the stream starts again
	atStartLost                  // and the stop has unreported losses
	stopCauses
)

var stopRules = [stopStates][stopCauses]struct {
	mark event.ID
	next stopState
}{
	running: {
		atEnd:       {noMark, running},
		atEndLost:   {noMark, running},
		atStart:     {noMark, running},
		atStartLost: {noMark, running},
	},
	stopped: {
		atEnd:       {event.Stop, stopReported},
		atEndLost:   {event.Stop, stopReported},
		atStart:     {event.Stop, stopReported},
		atStartLost: {event.Stop, stopReported},
	},
	stopReported: {
		atEnd:       {noMark, stopReported},
		atEndLost:   {event.Overflow, lossReported},
		atStart:     {noMark, running},
		atStartLost: {event.Overflow, lossReported},
	},
	lossReported: {
		atEnd:       {noMark, lossReported},
		atEndLost:   {noMark, lossReported},
		atStart:     {noMark, running},
		atStartLost: {noMark, running},
	},
}

// step returns the mark of a cause, and goes to the next state.
func (s *stopState) step(c stopCause) event.ID {
	rule := stopRules[*s][c]
	*s = rule.next
	return rule.mark
}

// withLosses is cause c, which has none, of a stop with account a.
func (c stopCause) withLosses(a *account) stopCause {
	if a.total() != a.reported.Load() {
		return c + 1
	}
	return c
}

// stopState returns the state of the stop under the flags st. LOOP streams do not stop for lack of
// room.
func (m *Mem) stopState(st uint64) stopState {
	switch {
	case m.Policy == Loop || st&Full == 0:
		return running
	case st&StopReported == 0:
		return stopped
	case m.account(st).overflow.Load() == 0:
		return stopReported
	}
	return lossReported
}

// stopDue returns the mark of the stop that is due for cause c under the flags st.
func (m *Mem) stopDue(st uint64, c stopCause) event.ID {
	s := m.stopState(st)
	return s.step(c.withLosses(m.account(st)))
}

// Ends of flushes.

type flushState uint8

const (
	noFlushStop flushState = iota
	flushStopDue
	flushStates
)

type flushCause uint8

const (
	flushStarts flushCause = iota
	flushEnds
	logEnds
	onSnapshot
	onClear
	flushCauses
)

var flushRules = [flushStates][flushCauses]struct {
	mark event.ID
	next flushState
}{
	noFlushStop: {
		flushStarts: {noMark, noFlushStop},
		flushEnds:   {noMark, flushStopDue},
		logEnds:     {noMark, noFlushStop},
		onSnapshot:  {noMark, noFlushStop},
		onClear:     {noMark, noFlushStop},
	},
	flushStopDue: {
		flushStarts: {event.FlushStop, noFlushStop},
		flushEnds:   {noMark, flushStopDue},
		logEnds:     {event.FlushStop, noFlushStop},
		onSnapshot:  {event.FlushStop, flushStopDue},
		onClear:     {noMark, noFlushStop},
	},
}

// flushStop is the third machine: the tick of the FLUSH_STOP that is due, 0 if there is none.
type flushStop uint64

func (f flushStop) state() flushState {
	if f != 0 {
		return flushStopDue
	}
	return noFlushStop
}

// step returns the mark of a cause, and goes to the next state. A flush ends at tick.
func (f *flushStop) step(c flushCause, tick uint64) event.ID {
	rule := flushRules[f.state()][c]
	switch {
	case rule.next == noFlushStop:
		*f = 0
	case c == flushEnds:
		*f = flushStop(tick)
	}
	return rule.mark
}

// stepFlushStop steps the header's machine. It returns the tick of the FLUSH_STOP, too.
func (m *Mem) stepFlushStop(c flushCause, tick uint64) (mark event.ID, due uint64) {
	for {
		old := m.h.flushStop.Load()
		f := flushStop(old)
		mark := f.step(c, tick)
		if m.h.flushStop.CompareAndSwap(old, uint64(f)) {
			return mark, old
		}
	}
}
