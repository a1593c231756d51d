package posixtrace

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"

// EventID identifies an event type within a stream (trace_event_id_t). Ids are
// compared with == (posix_trace_eventid_equal). Zero is no event type.
type EventID uint32

// The event types that exist in every stream.
const (
	EventError      = EventID(event.Error)      // posix_trace_error: an int, the error number
	EventStart      = EventID(event.Start)      // posix_trace_start: the filter in force
	EventStop       = EventID(event.Stop)       // posix_trace_stop: an int, 0 or the cause of an automatic stop
	EventFilter     = EventID(event.Filter)     // posix_trace_filter: old and new filter
	EventOverflow   = EventID(event.Overflow)   // posix_trace_overflow: events were lost from here
	EventResume     = EventID(event.Resume)     // posix_trace_resume: and up to here
	EventFlushStart = EventID(event.FlushStart) // posix_trace_flush_start
	EventFlushStop  = EventID(event.FlushStop)  // posix_trace_flush_stop

	// EventUnnamed (POSIX_TRACE_UNNAMED_USEREVENT) is the user event type
	// that needs no registration.
	EventUnnamed = EventID(event.Unnamed)

	// Extensions: system event types of this implementation.
	EventProcFork     = EventID(event.ProcFork)     // proc.fork: see ForkData
	EventProcExec     = EventID(event.ProcExec)     // proc.exec: see ExecData
	EventProcExit     = EventID(event.ProcExit)     // proc.exit: see ExitData
	EventProcSignal   = EventID(event.ProcSignal)   // proc.signal: see SignalData
	EventOutputStdout = EventID(event.OutputStdout) // output.stdout: see OutputData
	EventOutputStderr = EventID(event.OutputStderr) // output.stderr: see OutputData
)

// EventType is an event type of a stream or log. Extension.
type EventType struct {
	ID   EventID
	Name string
}

// System reports whether id is a system event type, POSIX's or an extension.
func (id EventID) System() bool { return event.ID(id).System() }

// User reports whether id is a user event type, the unnamed one included.
func (id EventID) User() bool { return event.ID(id).User() }

// Unnamed reports whether id is EventUnnamed. OpenEventID and Stream.EventID return it, without an error, for
// a new name when the process has UserEventMax names already: the standard asks for that. Extension.
func (id EventID) Unnamed() bool { return id == EventUnnamed }
