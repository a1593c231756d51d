package posixtrace

import (
	"context"
	"iter"
	"os"
	"time"
)

// Stream is an active trace stream (the trace_id_t of posix_trace_create,
// posix_trace_create_withlog). All methods are safe for concurrent use. After
// Shutdown every method fails with EINVAL. Interruption by signals does not
// exist for a Go program: EINTR is returned only for a cancelled context.
type Stream struct{ stub }

type stub struct{}

// Create makes an active stream without log that traces process pid; 0 is the
// calling process (posix_trace_create). The stream is suspended: Start it. attr
// may be nil. The caller becomes the stream's owner: when it dies the stream is
// shut down (see Handover).
//
// Errors: ESRCH no such process; EPERM not permitted to trace it; EAGAIN too
// many streams; ENOMEM no room; EINVAL an attribute that makes no sense.
func Create(pid int, attr *Attr) (*Stream, error) { return nil, errStub }

// CreateWithLog is Create for a stream with a log in the file that log is open
// on for writing (posix_trace_create_withlog). The descriptor is duplicated and
// never closed. The log begins at offset 0 of a regular file.
//
// Errors: those of Create; EBADF log is not open for writing; EINVAL a file
// type that does not suit the log-full-policy; ENOSPC no room for the log.
func CreateWithLog(pid int, attr *Attr, log *os.File) (*Stream, error) { return nil, errStub }

// CreateForChild makes a stream, with a log unless log is nil, for the process
// that the caller starts next: its direct child is traced from its first trace
// point on. Adopt tells the stream which process that is. Extension.
func CreateForChild(attr *Attr, log *os.File) (*Stream, error) { return nil, errStub }

// Adopt makes pid, a child started since CreateForChild, the process the stream
// traces. Errors: ESRCH, EPERM, EINVAL when the stream already has a process. Extension.
func (s *Stream) Adopt(pid int) error { return errStub }

// Attach connects to an active stream of the same user by name or, when it
// contains a slash, by the path of its file (StreamInfo.Path). The caller does
// not become its owner. Errors: ENOENT no such stream; EEXIST several of that
// name; EACCES not ours; EINVAL not a stream. Extension.
func Attach(nameOrPath string) (*Stream, error) { return nil, errStub }

// StreamInfo describes an active stream in a list. Extension.
type StreamInfo struct {
	Name       string
	Path       string // of the stream's file
	PID        int    // the traced process; 0 when there is none yet
	Owner      int    // the process whose death shuts the stream down
	LogPath    string // "" without log
	Status     RunStatus
	Full       FullStatus
	CreateTime time.Time
	Stale      bool // handed over without log, and its process is gone
}

// List returns the active streams of the user, oldest first. Streams whose
// owner died are shut down on the way, their logs completed. Extension.
func List() ([]StreamInfo, error) { return nil, errStub }

// Info describes the stream as List does. Extension.
func (s *Stream) Info() (StreamInfo, error) { return StreamInfo{}, errStub }

// Close gives up this connection to the stream without shutting it down, which
// goes on as long as its owner lives. Blocked reader calls fail with EINVAL. Extension.
func (s *Stream) Close() error { return errStub }

// Start makes a suspended stream record (posix_trace_start).
func (s *Stream) Start() error { return errStub }

// Stop suspends a stream (posix_trace_stop). When it returns no event of a
// traced process is recorded any more.
func (s *Stream) Stop() error { return errStub }

// Clear discards all recorded events and the filter; the stream keeps running
// if it was (posix_trace_clear).
func (s *Stream) Clear() error { return errStub }

// Flush writes the recorded events to the log (posix_trace_flush). On a stream
// of another living owner it asks the owner, waits and returns the owner's error.
// Errors: EINVAL a stream without log; ENOSPC, EFBIG, EIO as the log's file says.
func (s *Stream) Flush() error { return errStub }

// RequestFlush asks the owner of a stream with log for a flush and does not
// wait. Extension.
func (s *Stream) RequestFlush() error { return errStub }

// Shutdown stops tracing, flushes and completes the log if there is one, and
// frees everything (posix_trace_shutdown). Resources are freed even when
// completing the log fails with ENOSPC, EFBIG or EIO.
func (s *Stream) Shutdown() error { return errStub }

// Handover makes pid the owner of the stream: its death, not the caller's,
// shuts the stream down. Errors: ESRCH, EPERM. Extension.
func (s *Stream) Handover(pid int) error { return errStub }

// Status returns the state of the stream and resets what the standard resets by
// reading: the overrun states and the flush error (posix_trace_get_status).
func (s *Stream) Status() (Status, error) { return Status{}, errStub }

// PeekStatus is Status without the resets. Extension.
func (s *Stream) PeekStatus() (Status, error) { return Status{}, errStub }

// Attr returns the stream's attributes with the sizes and policies really used
// (posix_trace_get_attr).
func (s *Stream) Attr() (Attr, error) { return Attr{}, errStub }

// FilterHow says how SetFilter combines a set with the filter.
type FilterHow uint8

// The ways to change a filter.
const (
	SetEventSet FilterHow = iota // POSIX_TRACE_SET_EVENTSET: the filter becomes the set
	AddEventSet                  // POSIX_TRACE_ADD_EVENTSET: reject the set too
	SubEventSet                  // POSIX_TRACE_SUB_EVENTSET: accept the set again
)

// SetFilter changes which event types the stream rejects
// (posix_trace_set_filter). Patterns set before (see FilterOps) are dropped by
// SetEventSet and kept by the others. Errors: EINVAL no such how.
func (s *Stream) SetFilter(set EventSet, how FilterHow) error { return errStub }

// Filter returns the set of rejected event types (posix_trace_get_filter).
func (s *Stream) Filter() (EventSet, error) { return EventSet{}, errStub }

// FilterOp is one step of FilterOps: reject or accept again the types of Set
// and the types whose name matches a pattern, also those registered later.
// A pattern is a literal name or a glob with * and ?.
type FilterOp struct {
	How      FilterHow
	Set      EventSet
	Patterns []string
}

// FilterOps applies the steps in order and records one FILTER event for all of
// them. Of several patterns that match a new name the last decides. Errors:
// EINVAL a malformed pattern, or more than 64 of them. Extension.
func (s *Stream) FilterOps(ops []FilterOp) error { return errStub }

// EventID returns the id of a user event name in the traced process, which need
// not have registered it (posix_trace_trid_eventid_open). Errors: ENAMETOOLONG.
func (s *Stream) EventID(name string) (EventID, error) { return 0, errStub }

// EventName returns the name of an event type (posix_trace_eventid_get_name).
// Errors: EINVAL the id has no name.
func (s *Stream) EventName(id EventID) (string, error) { return "", errStub }

// NextEventType returns the next type of the stream's type list, false at its
// end (posix_trace_eventtypelist_getnext_id). The position belongs to s.
func (s *Stream) NextEventType() (EventID, bool, error) { return 0, false, errStub }

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind).
func (s *Stream) RewindEventTypes() error { return errStub }

// EventTypes iterates over the types of the stream and their names, without
// touching the position of NextEventType. Extension.
func (s *Stream) EventTypes() iter.Seq2[EventID, string] { return nil }

// Next reports the oldest event not yet reported, waiting for one if there is
// none (posix_trace_getnext_event). The event's data goes to data, n tells how
// much; what does not fit is lost and Truncation says TruncatedRead. Errors:
// EINVAL a stream with log (use Reader), or shut down meanwhile; EINTR ctx is done.
func (s *Stream) Next(ctx context.Context, data []byte) (ev EventInfo, n int, err error) {
	return ev, 0, errStub
}

// TryNext is Next without waiting: ErrUnavailable when no event is ready
// (posix_trace_trygetnext_event).
func (s *Stream) TryNext(data []byte) (ev EventInfo, n int, err error) { return ev, 0, errStub }

// TimedNext is Next that waits until the wall clock reaches deadline at most
// (posix_trace_timedgetnext_event). Errors: ETIMEDOUT.
func (s *Stream) TimedNext(deadline time.Time, data []byte) (ev EventInfo, n int, err error) {
	return ev, 0, errStub
}

// Reader returns a reader over what the stream holds now: its log, if it is a
// regular file that can be read, then the stream itself. Nothing is consumed;
// events that are overwritten meanwhile are left out. Extension.
func (s *Stream) Reader() (*Reader, error) { return nil, errStub }

// Recorder records system events and events on behalf of traced processes.
// A Recorder is not safe for concurrent use; make one for each goroutine. Extension.
type Recorder struct{ stub }

// Recorder returns a Recorder for the stream. When the caller owns a stream with
// log, a full stream is flushed by the call rather than the event lost.
func (s *Stream) Recorder() (*Recorder, error) { return nil, errStub }

// Record records one event: ID, PID, TID and Address as given, the time UnixNano
// or now when that is 0. It reports whether the stream took it: false when the stream is
// not running, rejects the type, or is full.
func (r *Recorder) Record(ev EventInfo, data []byte) bool { return false }

// Now is a time for EventInfo.UnixNano on the stream's own clock, for several
// events that share one.
func (r *Recorder) Now() int64 { return 0 }

// Close ends the recorder and frees its room in the stream.
func (r *Recorder) Close() error { return errStub }
