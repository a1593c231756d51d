package output

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// straceHeld has the events that Strace keeps back, to write calls where they began.
type straceHeld struct {
	events  []straceEvent
	bytes   int
	marks   []straceMark // of write, used again
	written int64        // the latest time that was written
	began   bool
	entered map[int]string // the calls of AppendEntered, by thread
}

// The limits of what is kept back.
const (
	straceEvents = 1 << 15
	straceBytes  = 8 << 20
)

// straceEvent is an event that is kept back.
type straceEvent struct {
	src     *Source
	rec     posixtrace.Record
	d       posixtrace.SyscallData
	entered int64
	call    bool
	split   bool // its first line was written
	done    bool
	waited  bool // write has waited once since it came
}

// straceMark is the beginning or the end of an event.
type straceMark struct {
	at  int64
	n   int32 // of the event
	end bool
}

// keep adds an event, and reports whether there are too many.
func (h *straceHeld) keep(src *Source, rec *posixtrace.Record) bool {
	e := straceEvent{src: src, rec: *rec}
	e.rec.Data = bytes.Clone(rec.Data)
	if e.d, e.call = decodeCall(src, &e.rec); e.call {
		e.entered = enteredAt(&e.rec, &e.d)
		if call, ok := h.entered[thread(rec)]; ok {
			e.split = callPrefix+call == src.Name(rec.ID)
			delete(h.entered, thread(rec))
		}
	}
	h.events = append(h.events, e)
	h.bytes += len(rec.Data)
	return len(h.events) >= straceEvents || h.bytes >= straceBytes
}

// amount is how much write appends.
type amount uint8

const (
	half amount = iota
	now         // all but the parts of calls that have not come yet, and may come soon
	all
)

// write appends events in the order of their times.
func (h *straceHeld) write(b []byte, l *StraceLines, n amount) []byte {
	if len(h.events) == 0 {
		return b
	}
	until := int64(math.MaxInt64)
	if n == half {
		until = h.events[len(h.events)/2].rec.UnixNano
	}
	h.sort()
	for i, m := range h.marks {
		e := &h.events[m.n]
		if m.at > until {
			break
		}
		if e.done {
			continue
		}
		if n == now && h.waits(e, i) {
			break
		}
		if h.written = max(h.written, m.at); !h.began {
			h.written, h.began = m.at, true
		}
		b = h.writeMark(b, l, e, i)
	}
	h.events = slices.DeleteFunc(h.events, func(e straceEvent) bool {
		if e.done {
			h.bytes -= len(e.rec.Data)
		}
		return e.done
	})
	return b
}

// sort puts the beginnings and ends of the events in order.
func (h *straceHeld) sort() {
	h.marks = h.marks[:0]
	for i := range h.events {
		e := &h.events[i]
		if e.call && !e.split && (!h.began || e.entered >= h.written) {
			h.marks = append(h.marks, straceMark{e.entered, int32(i), false})
		}
		h.marks = append(h.marks, straceMark{e.rec.UnixNano, int32(i), true})
	}
	slices.SortFunc(h.marks, func(a, b straceMark) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.n != b.n:
			return cmp.Compare(a.n, b.n)
		case a.end:
			return 1
		}
		return -1
	})
}

// waits reports whether the call that the event of mark i is part of may come soon. Then no later
// event can be written: the child of a fork would come before it. No event that is here now makes
// write wait again.
func (h *straceHeld) waits(e *straceEvent, i int) bool {
	if !partOfCall(e) || e.waited || h.nextOf(thread(&e.rec), i) != nil {
		return false
	}
	for _, m := range h.marks[i:] {
		h.events[m.n].waited = true
	}
	return true
}

// nextOf returns the event of a thread's next mark behind mark i, or nil.
func (h *straceHeld) nextOf(tid, i int) *straceEvent {
	for _, m := range h.marks[i+1:] {
		if o := &h.events[m.n]; !o.done && thread(&o.rec) == tid {
			return o
		}
	}
	return nil
}

// next returns the event of the next mark behind mark i, or nil.
func (h *straceHeld) next(i int) *straceEvent {
	for _, m := range h.marks[i+1:] {
		if o := &h.events[m.n]; !o.done {
			return o
		}
	}
	return nil
}

// writeMark appends the line of mark i, of event e.
func (h *straceHeld) writeMark(b []byte, l *StraceLines, e *straceEvent, i int) []byte {
	tid := thread(&e.rec)
	switch {
	case !e.call:
		e.done = true
		if partOfCall(e) {
			// The line of the call shows the event, if it precedes that of another thread.
			if o := h.nextOf(tid, i); o != nil && o.call && o.entered <= e.rec.UnixNano && (o.split || h.next(i) == o) {
				return b
			}
		}
		return l.appendOther(b, e.src, &e.rec)
	case h.marks[i].end:
		e.done = true
		if e.split {
			return l.appendCall(b, e.src, &e.rec, &e.d, callResumed)
		}
		return l.appendCall(b, e.src, &e.rec, &e.d, wholeCall)
	}
	for _, m := range h.marks[i+1:] {
		o := &h.events[m.n]
		if o == e {
			break
		}
		if !o.done && !(partOfCall(o) && thread(&o.rec) == tid) {
			e.split = true
			return l.appendCall(b, e.src, &e.rec, &e.d, callEntered)
		}
	}
	for _, m := range h.marks[i+1:] { // the thread's own events in the call
		o := &h.events[m.n]
		if o.done = true; o == e {
			break
		}
	}
	return l.appendCall(b, e.src, &e.rec, &e.d, wholeCall)
}

// partOfCall reports whether an event that comes while its thread is in a call is part of it: the
// line of the call shows it.
func partOfCall(e *straceEvent) bool {
	return e.rec.ID == posixtrace.EventProcFork || e.rec.ID == posixtrace.EventProcExec
}
