package output

import (
	"bytes"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// heldEvents is the queue of the events that Golden keeps back: a ring that grows.
type heldEvents struct {
	ring  []heldEvent
	start int // index of the first event
	count int
	size  int        // bytes of the data
	block *dataBlock // has the data of the latest events, used bytes of it
	used  int
	spare []*dataBlock
}

// dataBlock is a block for the data of events, large enough to make allocations rare.
type dataBlock [64 << 10]byte

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
	if h.count == len(h.ring) {
		grown := make([]heldEvent, max(64, len(h.ring)+1, min(2*len(h.ring), maxHeld+1)))
		n := copy(grown, h.ring[h.start:])
		copy(grown[n:], h.ring[:h.start])
		h.ring, h.start = grown, 0
	}
	i := h.start + h.count
	if i >= len(h.ring) {
		i -= len(h.ring)
	}
	e := &h.ring[i]
	h.count++
	e.src, e.data = src, h.keep(e, rec.Data)
	e.pid, e.tid, e.id, e.cut = rec.PID, rec.TID, rec.ID, rec.Truncation
	e.span, e.around = rec.Span, rec.Parent
	e.refersToOther = refersToOther(rec)
	h.size += len(e.data)
	return e
}

// keep returns a copy of the data of e.
func (h *heldEvents) keep(e *heldEvent, data []byte) []byte {
	if h.block == nil || len(data) > len(h.block)-h.used {
		if len(data) > len(h.block)/8 {
			return bytes.Clone(data)
		}
		e.full, h.used = h.block, 0
		if n := len(h.spare); n > 0 {
			h.block, h.spare = h.spare[n-1], h.spare[:n-1]
		} else {
			h.block = new(dataBlock)
		}
	}
	kept := h.block[h.used : h.used+copy(h.block[h.used:], data)]
	h.used += len(kept)
	return kept
}

// first returns the first event.
func (h *heldEvents) first() *heldEvent { return &h.ring[h.start] }

// pop removes the first event.
func (h *heldEvents) pop() {
	e := h.first()
	h.size -= len(e.data)
	if e.full != nil {
		h.spare = append(h.spare, e.full)
	}
	e.src, e.data, e.process, e.thread, e.full = nil, nil, nil, nil, nil
	if h.start++; h.start == len(h.ring) {
		h.start = 0
	}
	h.count--
}
