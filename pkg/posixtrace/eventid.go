package posixtrace

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

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
	EventProcMap      = EventID(event.ProcMap)      // proc.map: see MapData
	EventProcContext  = EventID(event.ProcContext)  // proc.context: see ContextData
	EventProcTimeout  = EventID(event.ProcTimeout)  // proc.timeout: see TimeoutData
	EventHangThread   = EventID(event.HangThread)   // hang.thread: see HangData
	EventResSample    = EventID(event.ResSample)    // res.sample: see ResSampleData
	EventFileAccess   = EventID(event.FileAccess)   // file.access: see FileData
)

// System reports whether id is a system event type, POSIX's or an extension.
func (id EventID) System() bool { return event.ID(id).System() }

// User reports whether id is a user event type, the unnamed one included.
func (id EventID) User() bool { return event.ID(id).User() }

// Unnamed reports whether id is EventUnnamed. OpenEventID and Stream.EventID return it, without an
// error, for a new name when the process has UserEventMax names already: the standard asks for
// that. Extension.
func (id EventID) Unnamed() bool { return id == EventUnnamed }

// OpenEventID returns the id of a user event name in the calling process and its family
// (posix_trace_eventid_open). It registers a new name; if the process has UserEventMax names
// already, it returns EventUnnamed (see EventID.Unnamed). For the name of a predefined type it
// returns that type's id.
//
// OpenEventID connects a traced process to its streams, unless that happened before main because
// PTRACE_STREAM names a stream. A program that enters a sandbox (seccomp(2)) opens its ids before:
// a new name needs flock(2), and a new stream openat(2), mmap(2), fcntl(2) and flock(2).
// OpenEventID waits for no flush and no control call. It is safe for concurrent use.
//
// Errors: ENAMETOOLONG a name of more than EventNameMax bytes; EAGAIN a process stopped for seconds
// while it registered a name; those of the trace directory (ErrDirectory).
func OpenEventID(name string) (EventID, error) {
	const op = "posix_trace_eventid_open"
	if len(name) > EventNameMax {
		return 0, &Error{Op: op, Err: syscall.ENAMETOOLONG}
	}
	p, err := tracee.Self.OpenWithin(3 * time.Second)
	if err != nil {
		return 0, fail(op, err, syscall.ENOMEM)
	}
	id, err := p.EventID(name)
	if err == nil {
		tracee.Self.Learn(id)
	}
	tracee.Self.ConnectNow()
	return EventID(id), fail(op, err, syscall.ENOMEM)
}

// MustEventID opens an event id like OpenEventID. It initializes package variables:
//
//	var fetch = posixtrace.MustEventID("page.fetch")
//
// It panics if name has more than EventNameMax bytes. If OpenEventID fails for any other reason, such
// as a trace directory that cannot be used, MustEventID returns 0, of which Event records nothing: a
// program does not fail because it cannot be traced. Extension.
func MustEventID(name string) EventID {
	id, err := OpenEventID(name)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		panic(fmt.Sprintf("posixtrace: MustEventID(%.20q...): %v", name, err))
	}
	return id
}

// EventID returns the id of a user event name in the traced process
// (posix_trace_trid_eventid_open). It registers a name that the process has not registered. Errors:
// ENAMETOOLONG a name of more than EventNameMax bytes; EINVAL the stream is closed.
func (s *Stream) EventID(name string) (EventID, error) {
	defer runtime.KeepAlive(s)
	const op = "posix_trace_trid_eventid_open"
	names, err := s.openNames()
	if err != nil {
		return 0, fail(op, err, syscall.EINVAL)
	}
	if len(name) > EventNameMax {
		return 0, &Error{Op: op, Err: syscall.ENAMETOOLONG}
	}
	// The name counts against the limit of the traced process (MAP-09).
	if p := s.c.Mem.Target(); p.PID != 0 {
		if page, err := s.c.Dir.Page(p, false); err == nil {
			defer page.Close()
			pr := &tracee.Proc{Dir: s.c.Dir, Page: page, Names: names}
			id, err := pr.EventID(name)
			return EventID(id), fail(op, err, syscall.ENOMEM)
		}
	}
	id, _, err := names.Open(name, false, nil)
	return EventID(id), fail(op, err, syscall.ENOMEM)
}

// EventName returns the name of an event type (posix_trace_eventid_get_name). Errors: EINVAL no
// type has that id, or the stream is closed.
func (s *Stream) EventName(id EventID) (string, error) {
	const op = "posix_trace_eventid_get_name"
	names, err := s.openNames()
	if err != nil {
		return "", fail(op, err, syscall.EINVAL)
	}
	name, ok := names.Lookup(event.ID(id))
	if !ok {
		return "", einval(op, "no event type has id %d", id)
	}
	return name, nil
}

// OpenSystemEventIDs returns the ids of system event types, such as syscall.openat, which a tracer
// records in the role of the stream's controller (see Recorder). It adds new types to the stream.
// It takes locks that a traced process may hold: a tracer calls it before it stops any process.
// Errors: ENAMETOOLONG a name of more than EventNameMax bytes; ENOSPC too many types; EINVAL the
// stream is closed. Extension.
func (s *Stream) OpenSystemEventIDs(list ...string) ([]EventID, error) {
	defer runtime.KeepAlive(s)
	const op = "OpenSystemEventIDs"
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	found, err := conn.OpenSystemNames(names, s.c.Dir, s.c.Mem.Family(), list)
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	ids := make([]EventID, len(found))
	for i, id := range found {
		ids[i] = EventID(id)
	}
	return ids, nil
}

// EventType is an event type of a stream or log. Extension.
type EventType struct {
	ID   EventID
	Name string
}

// NextEventType returns the next type of the stream's type list, and false at the end of the list
// (posix_trace_eventtypelist_getnext_id). Each Stream has its own position. Errors: EINVAL the
// stream is closed.
func (s *Stream) NextEventType() (EventID, bool, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	names, err := s.openNamesLocked()
	if err != nil {
		return 0, false, fail("posix_trace_eventtypelist_getnext_id", err, syscall.EINVAL)
	}
	all := names.All()
	if s.types >= len(all) {
		return 0, false, nil
	}
	s.types++
	return EventID(all[s.types-1].ID), true, nil
}

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind). Errors: EINVAL
// the stream is closed.
func (s *Stream) RewindEventTypes() error {
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.isClosed() {
		return fail("posix_trace_eventtypelist_rewind", s.whyClosed(), syscall.EINVAL)
	}
	s.types = 0
	return nil
}

// EventTypes returns all event types of the stream, in the order of NextEventType, whose position it
// leaves alone. Errors: EINVAL the stream is closed. Extension.
func (s *Stream) EventTypes() ([]EventType, error) {
	names, err := s.openNames()
	if err != nil {
		return nil, fail("EventTypes", err, syscall.EINVAL)
	}
	return eventTypes(names), nil
}

// eventTypes returns the event types of a family.
func eventTypes(names *registry.Names) []EventType {
	all := names.All()
	types := make([]EventType, len(all))
	for i, t := range all {
		types[i] = EventType{EventID(t.ID), t.Name}
	}
	return types
}
