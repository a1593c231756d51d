package posixtrace

import "time"

// Truncation tells whether the data of an event is whole.
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
	PID        int        // posix_pid; 0 when the event belongs to no process
	TID        int        // posix_thread_id: the kernel's thread id; 0 when there is none
	Address    uint64     // posix_prog_address: where in the program the trace point was called; 0 when unknown
	UnixNano   int64      // posix_timestamp in nanoseconds since the Unix epoch
	Truncation Truncation // posix_truncation_status

	// Extension: of an event that begins or ends a span with a key (SpanType), the key, and of
	// one that begins it the key of the span around it; else 0. A key means something
	// together with PID only.
	Span, Parent uint64
}

// Time returns the event's time.
func (e *EventInfo) Time() time.Time { return time.Unix(0, e.UnixNano) }

// Coarse reports whether the time of an event is that of a shell that knows it to
// hundredths of a second only, and may be that much too early. The order of
// such events among those of their shell is right. Extension.
func (e *EventInfo) Coarse() bool { return e.Address>>62 == 3 }

// Addresses of events that a command has recorded from what a shell left in a spool
// file. No program has such an address. Extension.
const (
	SpoolAddress  = 1 << 63 // all of them have this bit
	CoarseAddress = 1 << 62 // the shell knew the time to hundredths of a second
)
