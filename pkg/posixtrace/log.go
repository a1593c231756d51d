package posixtrace

import (
	"errors"
	"io"
	"iter"
	"os"
	"time"
)

var errStub = errors.New("stub")

// Log is a pre-recorded stream: a finished log (the trace_id_t of
// posix_trace_open). Its methods are safe for concurrent use. After Close they
// fail with EINVAL.
type Log struct{ stub }

// Open opens the log that f is open on for reading (posix_trace_open). The
// descriptor's offset is neither used nor moved, and f may be closed. A log
// whose owner died is completed first. Errors: EINVAL not a valid log, or its
// owner still records; EBADF f is not open for reading.
func Open(f *os.File) (*Log, error) { return nil, errStub }

// Next reports the next event, io.EOF at the end (posix_trace_getnext_event).
// The event's data goes to data, n tells how much; Truncation says TruncatedRead when
// it did not fit.
func (l *Log) Next(data []byte) (ev EventInfo, n int, err error) { return ev, 0, errStub }

// Rewind goes back to the oldest event (posix_trace_rewind).
func (l *Log) Rewind() error { return errStub }

// Close ends the use of the log (posix_trace_close).
func (l *Log) Close() error { return errStub }

// Attr returns the attributes of the recorded stream (posix_trace_get_attr).
func (l *Log) Attr() (Attr, error) { return Attr{}, errStub }

// Status returns the state of the stream when it was completed; nothing is
// reset (posix_trace_get_status).
func (l *Log) Status() (Status, error) { return Status{}, errStub }

// EventName returns the name of an event type (posix_trace_eventid_get_name).
// Errors: EINVAL the id has no name.
func (l *Log) EventName(id EventID) (string, error) { return "", errStub }

// NextEventType returns the next type of the log's type list, false at its
// end (posix_trace_eventtypelist_getnext_id).
func (l *Log) NextEventType() (EventID, bool, error) { return 0, false, errStub }

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind).
func (l *Log) RewindEventTypes() error { return errStub }

// EventTypes iterates over the types and their names. Extension.
func (l *Log) EventTypes() iter.Seq2[EventID, string] { return nil }

// Record is one event as a Reader reports it. Extension.
type Record struct {
	EventInfo
	Data []byte // valid until the next call of Next
}

// LogState tells what a Reader reads. Extension.
type LogState uint8

// The states of a log.
const (
	LogFinished   LogState = iota // completed and sealed
	LogLive                       // its stream is still active
	LogUnfinished                 // it ends without a seal: its recorder was killed or it is cut off
	LogDamaged                    // a block is unsound; what precedes it was read
)

// String returns "finished", "live", "unfinished" or "damaged".
func (s LogState) String() string {
	return [...]string{"finished", "live", "unfinished", "damaged"}[s&3]
}

// Reader reads the events of a log of any state, or of an active stream without
// consuming them, in the order of their times. It is not safe for concurrent use. Extension.
type Reader struct{ stub }

// OpenLog returns a reader of the log in r. If r is an *os.File on a regular
// file it is read positionally from offset 0 and blocks that a selection rules out are
// skipped; anything else is read forward once. Errors: EINVAL not a trace log. Extension.
func OpenLog(r io.Reader) (*Reader, error) { return nil, errStub }

// Selection narrows what a Reader reports. Zero members select everything.
type Selection struct {
	Since, Until time.Time // events at or after Since and before Until
	Types        *EventSet // events of these types
}

// Select narrows the reader to a selection; it is called before Next.
func (r *Reader) Select(sel Selection) {}

// Next returns the next event, io.EOF at the end of what is sound. The record
// is the reader's own and valid until the next call. Errors: EIO reading failed.
func (r *Reader) Next() (*Record, error) { return nil, errStub }

// Rewind goes back to the first event. Errors: ESPIPE the log is not a file.
func (r *Reader) Rewind() error { return errStub }

// State tells in which state the log is, after Next has returned io.EOF for a
// log read forward, and what is wrong with a damaged or unfinished one.
func (r *Reader) State() (LogState, error) { return 0, errStub }

// Attr returns the attributes of the recorded stream.
func (r *Reader) Attr() Attr { return Attr{} }

// Status returns the state of the stream when the log was completed, or as far
// as it is known.
func (r *Reader) Status() Status { return Status{} }

// Origin returns what the log says of where it was recorded.
func (r *Reader) Origin() Origin { return Origin{} }

// Origin tells where a stream was recorded. Extension.
type Origin struct {
	Host    string
	BootID  string
	PID     int      // the traced process
	Command []string // the command line of the owner
}

// EventName returns the name of an event type, or "" if the log has none.
func (r *Reader) EventName(id EventID) string { return "" }

// EventTypes iterates over the types known so far and their names.
func (r *Reader) EventTypes() iter.Seq2[EventID, string] { return nil }

// Close ends the use of the reader.
func (r *Reader) Close() error { return errStub }
