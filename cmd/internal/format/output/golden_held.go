package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// heldEvents is the queue of the events that Golden keeps back.
type heldEvents struct {
	queue[heldEvent]
	blocks dataBlocks
	size   int // bytes of the data

	latest *heldActor // of the latest event
	spare  []*heldActor
}

// heldEvent has the members of an event that Golden shows. There are many, and the fewer pointers
// they have the less the garbage collector does.
type heldEvent struct {
	by            *heldActor
	data          []byte
	span, around  uint64
	id            posixtrace.EventID
	cut           posixtrace.Truncation
	refersToOther bool // to more than its process and thread
	begins        bool // a block of data
}

// heldActor is what recorded an event. Events that follow each other share it.
type heldActor struct {
	src      *Source
	process  *numbered
	thread   *numbered // nil: the event has none
	pid, tid int
	events   int // that are kept back
}

// record returns the event without the members that are not shown.
func (e *heldEvent) record() posixtrace.Record {
	return posixtrace.Record{
		EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.by.pid, TID: e.by.tid, Truncation: e.cut, Span: e.span, Parent: e.around},
		Data:      e.data,
	}
}

// The limits of what is kept back. The number of a process that has no event among so many
// may be reused.
const (
	maxHeld     = 1 << 15
	maxHeldData = 4 << 20
)

// push appends an event with the numbers of its process and thread.
func (h *heldEvents) push(src *Source, rec *posixtrace.Record, process, thread *numbered) *heldEvent {
	e := h.queue.push()
	e.by = h.actor(heldActor{src: src, process: process, thread: thread, pid: rec.PID, tid: rec.TID})
	e.data, e.begins = h.blocks.keep(rec.Data)
	e.id, e.cut, e.span, e.around = rec.ID, rec.Truncation, rec.Span, rec.Parent
	e.refersToOther = refersToOther(rec)
	h.size += len(e.data)
	return e
}

// actor returns the actor of one more event.
func (h *heldEvents) actor(by heldActor) *heldActor {
	if h.latest != nil {
		if by.events = h.latest.events; by == *h.latest {
			h.latest.events++
			return h.latest
		}
	}
	if n := len(h.spare); n > 0 {
		h.latest, h.spare = h.spare[n-1], h.spare[:n-1]
	} else {
		h.latest = new(heldActor)
	}
	by.events = 1
	*h.latest = by
	return h.latest
}

// pop removes the first event.
func (h *heldEvents) pop() {
	e := h.first()
	h.size -= len(e.data)
	if e.begins {
		h.blocks.reuse()
	}
	if by := e.by; by.events > 1 {
		by.events--
	} else {
		if h.latest == by {
			h.latest = nil
		}
		*by = heldActor{}
		h.spare = append(h.spare, by)
	}
	e.by, e.data = nil, nil
	h.queue.pop()
}
