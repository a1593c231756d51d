package stream

import (
	"encoding/binary"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The functions of this file run in one process at a time: the caller holds the stream's lock.

// awaitHolders waits, for a bounded time, until no writer is in the middle of an event that it started
// under an older state. A writer that is stopped or dead never gets there.
func (m *Mem) awaitHolders() {
	deadline := time.Now().Add(20 * time.Millisecond)
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		for c.busy() && ctl(d.ctl.Load()) == c && time.Now().Before(deadline) {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// Start makes the stream record, after a START event (posix_trace_start).
func (m *Mem) Start(w *Writer, e Event) {
	m.fill()
	st := m.State()
	if st&(Running|Dead) != 0 {
		return
	}
	if st&Full != 0 {
		if !m.hasSpace() {
			// No effect (STA-03), but the automatic restart is enabled again.
			m.change(0, NoRestart)
			return
		}
	}
	if st&LogFull != 0 {
		return
	}
	m.start(w, e)
}

func (m *Mem) start(w *Writer, e Event) {
	stop := uint64(0)
	was := m.account(m.h.state.Load())
	if m.Policy != Loop && m.State()&Full != 0 {
		if !m.reportStop(w) {
			m.change(0, NoRestart)
			return
		}
		stop = m.stopTick()
	}
	from := m.after(stop)
	e.ID, e.Tick = event.Start, 0
	f := m.Filter()
	if !w.RecordSystem(&e, event.AppendSet(nil, &f)) {
		if m.Policy != Loop {
			// Full to the last byte. It starts when a reader has made room.
			m.h.autoStop.CompareAndSwap(0, m.now())
			m.change(Full|StopReported, NoRestart)
			return
		}
		m.addLost(m.now())
	}
	m.raiseHorizon(max(e.Tick, m.now())) // all that is recorded from now on is later than the START
	m.h.autoStop.Store(0)
	m.h.stopCause.Store(1)
	m.h.stopBy.Store(0)
	m.h.stopAddr.Store(0)
	if m.Policy == Loop {
		m.change(Running, Full|NoRestart|StopReported)
		return
	}
	for {
		st := m.h.state.Load()
		if m.h.state.CompareAndSwap(st, (st|Running)&^(Full|NoRestart|StopReported)^lossB+stateGen) {
			break
		}
	}
	// The next stop, which may be under way already, has an account of its own.
	m.endStop(was, stop, from)
}

// Restartable reports whether a stream that stopped for lack of room is empty, its
// STOP reported, and is to go on. In a stream with log, the chunks of writers that are stopped in the
// middle of an event do not count.
func (m *Mem) Restartable() bool {
	if m.State()&(Full|StopReported|NoRestart|LogFull|Dead|Running) != Full|StopReported {
		return false
	}
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if m.HasLog && c.busy() {
			// Its writer is stopped. A later flush takes its events, and the others need not wait.
			continue
		}
		if c.state() != free && c.count() > 0 {
			if rd := readWord(d.read.Load()); rd.gen() != c.gen() || rd.count() < c.count() {
				return false
			}
		}
	}
	return true
}

// Restart makes such a stream go on. The caller holds the stream's lock.
func (m *Mem) Restart(w *Writer) {
	if m.Restartable() {
		m.start(w, Event{})
	}
}

// after returns the time, once it is after tick. The wait is short: the time of an
// automatic stop is a little ahead.
func (m *Mem) after(tick uint64) (now uint64) {
	for range 1000 {
		if now = m.now(); now > tick+1 {
			break
		}
	}
	return now
}

// reportStop reports the marks of a stop for lack of room that no reader or flush has reported,
// before the stream starts again. Once it runs, only recorded marks can stand before the START. It
// returns false if there is no room for the STOP.
func (m *Mem) reportStop(w *Writer) bool {
	oldest, record := m.h.flushedTo.Load()+1, false
	if m.stopDue(m.State(), atStart) == event.Stop && m.claimStop() {
		// A reader has consumed some of the events before it.
		m.awaitHolders()
		stop := m.stopMark(max(m.stopTick(), m.newest()+1))
		if !w.RecordSystem(&Event{ID: event.Stop, Tick: stop.Tick, PID: stop.PID, TID: stop.TID, Addr: stop.Addr}, stop.Data) {
			m.change(0, StopReported)
			return false
		}
		oldest, record = stop.Tick+1, true
	}
	st := m.State()
	if m.stopDue(st, atStart) != event.Overflow {
		return true
	}
	tick := m.claimStopLoss(m.account(st))
	if tick == 0 {
		return true // a reader was faster
	}
	tick = max(tick, oldest)
	if record {
		// OVERFLOW stands behind the recorded STOP.
		m.h.recordedOverflow.Store(1)
		if w.RecordSystem(&Event{ID: event.Overflow, Tick: tick}, nil) {
			return true
		}
	}
	m.postponeOverflow(tick)
	return true
}

// Stop suspends the stream, then records a STOP event (posix_trace_stop).
func (m *Mem) Stop(w *Writer, e Event) { m.stop(w, e, false) }

// StopOrphan stops a stream whose owner is dead. The times of a log are those of what was traced,
// not that at which another process completes the log: the STOP, and the marks of the flush that
// follows, come right behind the last sign of life, an event or a flush by the owner.
func (m *Mem) StopOrphan(w *Writer) { m.stop(w, Event{}, true) }

// LastLife returns the tick of the last sign of life of an orphan, so far.
func (m *Mem) LastLife() uint64 {
	tick := max(m.newest(), m.h.lastTick.Load(), m.h.flushedTo.Load())
	if m.State()&Full != 0 {
		tick = max(tick, m.stopTick())
	}
	return min(tick, m.now()) // a damaged stream may say anything
}

// time returns the time of the marks of a flush.
func (m *Mem) time() uint64 {
	if m.end != 0 {
		return m.end
	}
	return m.now()
}

func (m *Mem) stop(w *Writer, e Event, orphan bool) {
	m.fill()
	st := m.change(0, Running)
	if st&Running != 0 {
		m.awaitHolders()
	}
	e.ID, e.Tick = event.Stop, 0
	if orphan {
		e.Tick = m.LastLife() + 1
		m.end = e.Tick + 1
	}
	switch {
	case st&Running != 0:
		if m.h.loopFull.Load() != 0 {
			return // a full stream takes no STOP (STA-06)
		}
		if w.RecordSystem(&e, binary.LittleEndian.AppendUint32(nil, 0)) {
			return
		}
		if m.Policy == Loop {
			m.addLost(m.now())
			return
		}
		// Full to the last byte: the STOP goes to the header, like an automatic one, with the
		// cause that a call stopped the stream.
		m.stoppedBy(&e, max(m.time(), m.newest()+1), 0)
		m.change(Full|NoRestart, StopReported)
	case st&(Full|LogFull) != 0:
		m.change(NoRestart, 0)
	}
}

// stoppedBy stores the STOP of a full stream in the header, where there is always room for it.
func (m *Mem) stoppedBy(e *Event, tick uint64, cause uint64) {
	m.h.autoStop.Store(tick)
	m.h.stopCause.Store(cause)
	m.h.stopBy.Store(uint64(e.PID) | uint64(e.TID)<<32)
	m.h.stopAddr.Store(e.Addr)
}

// stopMark is the STOP of a full stream.
func (m *Mem) stopMark(tick uint64) chunk.Record {
	by := m.h.stopBy.Load()
	r := stopRecord(tick, uint32(m.h.stopCause.Load()))
	r.PID, r.TID, r.Addr = uint32(by), uint32(by>>32), m.h.stopAddr.Load()
	return r
}

func stopRecord(tick uint64, cause uint32) chunk.Record {
	return chunk.Record{Event: event.Stop, Tick: tick, Data: binary.LittleEndian.AppendUint32(nil, cause)}
}

// SetFilter puts a set in force. While the stream runs, it records a FILTER
// event between the events judged by the old and by the new set
// (posix_trace_set_filter).
func (m *Mem) SetFilter(w *Writer, e Event, s *event.Set) {
	old := m.Filter()
	hidden := old.Has(event.Filter) && s.Has(event.Filter)
	if st := m.State(); st&(Running|Full) == 0 || st&NoRestart != 0 || hidden {
		m.setFilter(s)
		return
	} else if st&Full != 0 {
		m.addLost(m.setFilter(s)) // the FILTER event follows the full policy
		return
	}
	e.ID, e.Tick = event.Filter, 0
	data := event.AppendSet(event.AppendSet(nil, &old), s)
	// The event gets its place first: behind younger events it could not have the
	// time at which the filter changes.
	changed := false
	w.force(&e, data, func() uint64 {
		changed = true
		return m.setFilter(s)
	})
	for !changed {
		m.setFilter(s)
		changed = w.overrun(&e, m.h.state.Load()) // it is generated, and follows the full policy
	}
}

// Clear discards everything recorded and the filter (posix_trace_clear).
func (m *Mem) Clear() {
	tick := m.setFilter(&event.Set{})
	m.h.npat.Store(0)
	deadline := time.Now().Add(20 * time.Millisecond)
	for i := range m.Chunks {
		d := m.at(i)
		for {
			c := ctl(d.ctl.Load())
			if c.state() == free || c.state() != claiming && !c.busy() && m.drop(i, c) {
				break
			}
			if time.Now().After(deadline) {
				m.clearBusy(i, c, tick) // its writer does not run
				break
			}
			time.Sleep(10 * time.Microsecond)
		}
	}
	h := m.h
	h.clears.Add(1)
	if m.LogFullPolicy != Append {
		m.stepFlushStop(onClear, 0) // the log is emptied, too
	}
	h.failTick.Store(0)
	h.loopFull.Store(0)
	h.logOverrun.Store(0)
	h.flushErr.Store(0)
	h.logFull.Store(0)
	if m.State()&(Full|LogFull) != 0 {
		m.change(NoRestart, Full|LogFull|StopReported) // stays suspended until started
	}
	m.dropMarks()
	h.readLost(m.Lost())
}

// Kill marks the stream as shut down: writers and readers that still have it
// mapped stop using it.
func (m *Mem) Kill() { m.change(Dead, Running) }

// Spare calls free for the parts of the file that are useless once the stream is dead: the chunks,
// in whole pages. A busy chunk stays, since its writer may still store to it; a writer that makes a
// chunk busy later finds the changed state before it stores.
func (m *Mem) Spare(free func(off, n int64)) {
	if m.State()&Dead == 0 {
		return
	}
	page := int64(os.Getpagesize())
	data := int64(dataOffset(m.Chunks))
	from := 0
	for i := range m.Chunks + 1 {
		if i < m.Chunks && !ctl(m.at(i).ctl.Load()).busy() {
			continue
		}
		start := (data + int64(from)*int64(m.ChunkSize) + page - 1) &^ (page - 1)
		end := (data + int64(i)*int64(m.ChunkSize)) &^ (page - 1)
		if end > start {
			free(start, end-start)
		}
		from = i + 1
	}
}
