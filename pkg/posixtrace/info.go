package posixtrace

import "time"

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
