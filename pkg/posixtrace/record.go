package posixtrace

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Record is an event with the name of its type and its data. Extension.
type Record struct {
	EventInfo
	Name string // of the event type; "" if the type has no name
	Data []byte // valid until the next event is read; in a Batch until the batch is filled again
}

// set fills o from a decoded event and its time in nanoseconds.
func (r *Reader) set(o *Record, rec *chunk.Record, ns int64) {
	describe(&o.EventInfo, rec, ns)
	o.Name, o.Data = r.name(o.ID), rec.Data
}

// withMaps appends an event, behind the mappings that were noted before it, as far as they are
// selected by their types.
func (r *Reader) withMaps(recs []Record, rec *chunk.Record, ns int64) []Record {
	for m := rec.Maps; m != nil && r.selects(event.ProcMap); m = m.Next {
		var o Record
		r.set(&o, mapRecord(m), ns)
		recs = append(recs, o)
	}
	if r.selects(rec.Event) {
		var o Record
		r.set(&o, rec, ns)
		recs = append(recs, o)
	}
	return recs
}

// mapRecord returns a note on a mapping as an event.
func mapRecord(m *chunk.Map) *chunk.Record {
	return &chunk.Record{Event: event.ProcMap, PID: m.PID, Data: m.Data}
}

// selects reports whether events of a type are selected.
func (r *Reader) selects(id event.ID) bool { return r.sel.Types == nil || r.sel.Types.s.Has(id) }

// describe fills o from a decoded event and its time in nanoseconds.
func describe(o *EventInfo, rec *chunk.Record, ns int64) {
	o.ID, o.PID, o.TID, o.Address = EventID(rec.Event), int(rec.PID), int(rec.TID), rec.Addr
	o.UnixNano = ns
	o.Truncation = TruncationNone
	if rec.Truncated {
		o.Truncation = TruncationRecord
	}
	o.Span, o.Parent = rec.Span, rec.Parent
}

// info describes a decoded event.
func info(rec *chunk.Record, c *chunk.Clock) (ev EventInfo) {
	describe(&ev, rec, c.Nanos(rec.Tick))
	return ev
}
