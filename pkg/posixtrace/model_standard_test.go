package posixtrace

import (
	"fmt"
	"slices"
	"strings"
)

// The standard as plain lists: the events of a stream, its state, and the next event of a
// reader. The model takes only two facts from the stream, which the standard leaves open and
// the checks bound: whether an event found room, and under LOOP which writers lost one.

// mevent is an event that the model expects to be reported.
type mevent struct {
	name string
	pid  int // the process that generated it; 0: the trace system
	data string
	cut  bool
	size int  // an upper bound of its size in the stream
	gone bool // lost; without a name: one or more lost here by a full stream
	safe bool // can no longer be lost: RESUME has announced it
	free bool // a mark of a flush: it takes no room and ends no loss
	wipe bool // no event, but a clear: losses pending before it are not reported (CLR-03)
	may  bool // not known whether it was generated
}

// mstream is a stream in the model.
type mstream struct {
	attr   StreamAttr
	logged bool
	filter EventSet
	ids    map[string]EventID

	queue    []mevent // generated and not yet reported
	flushed  int      // of a stream with log: how many of them are in the log
	closing  int      // those before the flush that found the log full
	running  bool
	full     bool // stopped for lack of room
	logFull  bool // stopped for lack of room in the log
	pending  bool // and not by a call: generated events are lost
	reported bool // the automatic STOP has been reported
	inside   bool // OVERFLOW was reported, and no RESUME since
	overrun  bool
}

const (
	mStart  = "posix_trace_start"
	mStop   = "posix_trace_stop"
	mFilter = "posix_trace_filter"
	mLoss   = "posix_trace_overflow"
	mResume = "posix_trace_resume"
	mFlush0 = "posix_trace_flush_start"
	mFlush1 = "posix_trace_flush_stop"
)

// event generates an event and reports whether it was (STA-08, FIL-01).
func (m *mstream) event(e mevent) bool {
	if m.filter.Has(m.ids[e.name]) || !m.running && !m.pending {
		return false
	}
	m.queue = append(m.queue, e)
	return true
}

// control adds an event that a call generates.
func (m *mstream) control(name, data string, pid int) bool {
	return m.event(mevent{name: name, data: data, pid: pid, size: m.attr.MaxSystemEventSize()})
}

// start makes the stream run (STA-01). The caller has checked that there is room, or
// that the stream runs already.
func (m *mstream) start(pid int) {
	if m.running || m.logFull {
		return
	}
	m.reportStop()
	m.running, m.full, m.pending = true, false, false
	m.control(mStart, set(m.filter), pid)
}

// reportStop inserts the automatic STOP in its place, before the loss (FUL-19).
func (m *mstream) reportStop() {
	if m.full && !m.reported {
		i := slices.IndexFunc(m.queue[m.flushed:], func(e mevent) bool { return e.gone })
		if i < 0 {
			i = len(m.queue) - m.flushed
		}
		m.queue = slices.Insert(m.queue, m.flushed+i, mevent{name: mStop, data: "1"})
		m.reported = true
	}
}

// stop suspends it (STA-04). A full stream takes no STOP (STA-06), and one that stopped
// automatically no longer restarts automatically (STA-11).
func (m *mstream) stop(pid int, full bool) {
	if m.running && !full {
		m.control(mStop, "0", pid)
	}
	m.running, m.pending = false, false
}

// refuse loses the last events after the first of them found no room (FUL-04, FUL-06).
func (m *mstream) refuse(lost int) {
	if lost > 0 {
		m.queue = m.queue[:len(m.queue)-lost]
		if n := len(m.queue); !m.logFull && (n == 0 || !m.queue[n-1].gone) {
			m.queue = append(m.queue, mevent{gone: true})
		}
		m.overrun = true
	}
	if m.running {
		m.running, m.full, m.pending, m.reported = false, true, true, false
	}
}

// setFilter changes the filter, with a FILTER event between the events filtered by the old and
// the new one (FIL-07, FIL-10).
func (m *mstream) setFilter(f EventSet, how FilterHow, pid int) {
	old := m.filter
	switch how {
	case FilterSet:
		m.filter = f
	case FilterAdd:
		m.filter.Union(f)
	case FilterSub:
		m.filter.Subtract(f)
	}
	new := m.filter
	m.filter.Del(EventFilter)
	if !(old.Has(EventFilter) && new.Has(EventFilter)) && !m.logFull {
		m.control(mFilter, set(old)+">"+set(new), pid)
	}
	m.filter = new
}

// clear resets the stream as if newly created (CLR-01 .. CLR-05). An APPEND log keeps its
// events (CLR-08).
func (m *mstream) clear() {
	m.queue = append(m.queue[:m.flushed:m.flushed], mevent{wipe: true})
	if !m.logged || m.attr.LogFullPolicy != PolicyAppend {
		m.queue, m.inside = nil, false
	}
	m.flushed, m.closing, m.filter, m.overrun = len(m.queue), 0, EventSet{}, false
	m.full, m.logFull, m.pending, m.reported = false, false, false, false
}

// flush moves all events to the log (LOG-01, LOG-04), and restarts a full stream (FUL-09). The
// caller has checked whether the log is full now (LOG-06, LOG-07).
func (m *mstream) flush(logFull bool) {
	m.reportStop()
	m.queue = append(m.queue, mevent{name: mFlush0, free: true}, mevent{name: mFlush1, free: true})
	if logFull && !m.logFull {
		m.closing, m.logFull = m.flushed, true
		m.pending = m.running || m.full && m.pending
		m.running, m.full = false, false
	}
	m.flushed = len(m.queue)
	m.restart()
}

// restart restarts a stream that is empty and has reported the STOP (FUL-09, FUL-10).
func (m *mstream) restart() {
	if m.full && m.pending && m.reported && m.flushed == len(m.queue) {
		m.start(0)
	}
}

// next takes the event that must be reported next; ok is false if there is none. name is that of
// the event that was reported, where the standard leaves a choice: it may report losses with
// events between them as one.
func (m *mstream) next(name string) (e mevent, ok bool) {
	if !m.logged && m.full && !m.reported && (len(m.queue) == 0 || m.queue[0].gone) {
		m.reported = true
		return mevent{name: mStop, data: "1"}, true
	}
	for len(m.queue) > 0 && (m.queue[0].gone || m.queue[0].wipe) {
		e, m.queue = m.queue[0], m.queue[1:]
		if e.wipe {
			m.inside = false
		} else if !m.inside {
			m.inside = true
			return mevent{name: mLoss}, true
		}
	}
	if len(m.queue) == 0 {
		if m.restart(); len(m.queue) == 0 {
			return mevent{}, false
		}
	}
	if e := &m.queue[0]; m.inside && !e.free && e.name != mStart && (name == mResume || !m.losses()) {
		m.inside, e.safe = false, true
		return mevent{name: mResume}, true
	}
	e, m.queue = m.queue[0], m.queue[1:]
	return e, true
}

// losses reports whether there is another loss ahead.
func (m *mstream) losses() bool {
	for _, e := range m.queue {
		if e.gone || e.wipe {
			return e.gone
		}
	}
	return false
}

// room is an upper bound of the size of the events that take room.
func (m *mstream) room() (n int) {
	for _, e := range m.queue[m.flushed:] {
		if !e.gone {
			n += e.size
		}
	}
	return
}

// set names the types in a set.
func set(s EventSet) string {
	var ids []string
	for id := EventID(1); id < 64; id++ {
		if s.Has(id) {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	return strings.Join(ids, ",")
}
