package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// heldEvents is the queue of the events that Golden keeps back.
type heldEvents struct {
	queue[heldEvent]
	blocks dataBlocks
	size   int // bytes of the data
}

// heldEvent has the members of an event that Golden shows.
type heldEvent struct {
	src           *Source
	data          []byte
	process       *numbered
	thread        *numbered // nil: the event has none
	pid, tid      int
	span, around  uint64
	id            posixtrace.EventID
	cut           posixtrace.Truncation
	refersToOther bool       // to more than its process and thread
	full          *dataBlock // has data of earlier events only; nil for most events
}

// record returns the event without the members that are not shown.
func (e *heldEvent) record() posixtrace.Record {
	return posixtrace.Record{
		EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.pid, TID: e.tid, Truncation: e.cut, Span: e.span, Parent: e.around},
		Data:      e.data,
	}
}

// The limits of what is kept back. The number of a process that has no event among so many
// may be reused.
const (
	maxHeld     = 1 << 15
	maxHeldData = 4 << 20
)

// push appends an event, without its numbers.
func (h *heldEvents) push(src *Source, rec *posixtrace.Record) *heldEvent {
	e := h.queue.push(maxHeld + 1)
	e.src = src
	e.data, e.full = h.blocks.keep(rec.Data)
	e.pid, e.tid, e.id, e.cut = rec.PID, rec.TID, rec.ID, rec.Truncation
	e.span, e.around = rec.Span, rec.Parent
	e.refersToOther = refersToOther(rec)
	h.size += len(e.data)
	return e
}

// pop removes the first event.
func (h *heldEvents) pop() {
	e := h.first()
	h.size -= len(e.data)
	h.blocks.reuse(e.full)
	e.src, e.data, e.process, e.thread, e.full = nil, nil, nil, nil, nil
	h.queue.pop()
}
