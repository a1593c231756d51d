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
	o.ID, o.PID, o.TID, o.Address = EventID(rec.Event), int(rec.PID), int(rec.TID), rec.Addr
	o.UnixNano = ns
	o.Truncation = TruncationNone
	if rec.Truncated {
		o.Truncation = TruncationRecord
	}
	o.Name, o.Data = r.name(o.ID), rec.Data
	o.Span, o.Parent = rec.Span, rec.Parent
}

// info describes a decoded event.
func info(rec *chunk.Record, c *chunk.Clock) EventInfo {
	ev := EventInfo{
		ID: EventID(rec.Event), PID: int(rec.PID), TID: int(rec.TID), Address: rec.Addr,
		UnixNano: c.Nanos(rec.Tick), Span: rec.Span, Parent: rec.Parent,
	}
	if rec.Truncated {
		ev.Truncation = TruncationRecord
	}
	return ev
}
