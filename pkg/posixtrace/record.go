package posixtrace

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

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
