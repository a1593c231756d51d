package posixtrace

import (
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Truncation is whether the data of an event is whole.
type Truncation uint8

// The truncation states (posix_truncation_status).
const (
	TruncationNone   Truncation = iota // POSIX_TRACE_NOT_TRUNCATED
	TruncationRecord                   // POSIX_TRACE_TRUNCATED_RECORD: cut when recorded
	TruncationRead                     // POSIX_TRACE_TRUNCATED_READ: cut when read, the buffer was too small
)

// String returns "none", "record" or "read".
func (t Truncation) String() string {
	switch t {
	case TruncationRecord:
		return "record"
	case TruncationRead:
		return "read"
	}
	return "none"
}

// EventInfo describes one recorded event (posix_trace_event_info).
type EventInfo struct {
	ID         EventID    // posix_event_id
	PID        int        // posix_pid; 0 if the event belongs to no process
	TID        int        // posix_thread_id: the kernel's thread id; 0 if there is none
	Address    uint64     // posix_prog_address: the address of the trace point in the program; 0 if unknown
	UnixNano   int64      // posix_timestamp in nanoseconds since the Unix epoch
	Truncation Truncation // posix_truncation_status

	// Span is the key of the span that the event starts or ends (SpanType) or within which it happens
	// (EventIn), or 0. Parent is the key of the span around a span that the event starts, or 0. A key
	// is unique within a process. Extension.
	Span, Parent uint64
}

// Time returns the event's time.
func (e *EventInfo) Time() time.Time { return time.Unix(0, e.UnixNano) }

// Coarse reports whether the event comes from a shell that knows the time only to hundredths of a
// second: the time may be up to 10 ms early. The order among the events of that shell is right.
// Extension.
func (e *EventInfo) Coarse() bool { return e.Address>>62 == 3 }

// Addresses of events that a command has recorded from the spool file of a shell. No program has
// such addresses. Extension.
const (
	SpoolAddress  = 1 << 63 // all of them have this bit
	CoarseAddress = 1 << 62 // the shell knew the time to hundredths of a second
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
