package posixtrace

import (
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Log is a pre-recorded stream: a finished log (the trace_id_t of posix_trace_open). All methods
// are safe for concurrent use. After Close they fail with EINVAL and os.ErrClosed.
type Log struct {
	mu    sync.Mutex
	f     *os.File // nil after Close
	r     *Reader
	types int
}

var errLogClosed = closedError("the log is closed")

// Open opens the log in f, which is open for reading (posix_trace_open). Open does not use or move
// the offset of the descriptor, and the caller may close f. If the log's owner died, Open completes
// the log first; if it cannot, the Log ends with the last sound event. Errors: EINVAL not a valid
// log, or its stream is still active (see NewReader); EBADF f is not open for reading.
func Open(f *os.File) (*Log, error) {
	const op = "posix_trace_open"
	if f == nil {
		return nil, &Error{Op: op, Err: syscall.EBADF}
	}
	dup, err := sys.DupForReading(f)
	if err != nil {
		return nil, fail(op, err, syscall.EBADF)
	}
	st, err := dup.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%w: %w", errNotFile, syscall.EINVAL)
	}
	var r *Reader
	if err == nil {
		r, err = openFile(dup, nil)
	}
	if err == nil && r.live {
		err = fmt.Errorf("its stream is still active: %w", syscall.EINVAL)
	}
	if err != nil {
		dup.Close()
		return nil, fail(op, err, syscall.EINVAL)
	}
	return &Log{f: dup, r: r}, nil
}

// use runs g with the reader of an open log.
func (l *Log) use(op string, g func(r *Reader) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return fail(op, errLogClosed, syscall.EINVAL)
	}
	return g(l.r)
}

// Next reports the next event (posix_trace_getnext_event). It copies the event's data into data and
// returns the number of bytes, n. If the data does not fit, ev.Truncation is TruncationRead. At the
// end of the log it returns a bare io.EOF. Errors: EINVAL the log is closed; EIO reading failed.
func (l *Log) Next(data []byte) (ev EventInfo, n int, err error) {
	err = l.use("posix_trace_getnext_event", func(r *Reader) error {
		rec, err := r.Next()
		if err != nil {
			return err
		}
		ev, n = rec.EventInfo, copy(data, rec.Data)
		if n < len(rec.Data) {
			ev.Truncation = TruncationRead
		}
		return nil
	})
	return ev, n, err
}

// All iterates over the events that Next would report from here on, with their names and data,
// and ends with those or with an error. Data is whole and valid until the next iteration. Extension.
func (l *Log) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var data []byte
		for {
			var rec Record
			err := l.use("posix_trace_getnext_event", func(r *Reader) error {
				next, err := r.Next()
				if err != nil {
					return err
				}
				// Another goroutine may call Next meanwhile.
				data = append(data[:0], next.Data...)
				rec = Record{next.EventInfo, next.Name, data}
				return nil
			})
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Rewind goes back to the oldest event (posix_trace_rewind). Errors: EINVAL the log is closed.
func (l *Log) Rewind() error {
	return l.use("posix_trace_rewind", func(r *Reader) error { return r.Rewind() })
}

// Close ends the use of the log (posix_trace_close). Errors: EINVAL the log is closed.
func (l *Log) Close() error {
	return l.use("posix_trace_close", func(r *Reader) error {
		r.Close()
		l.f.Close()
		l.f = nil
		return nil
	})
}

// Attr returns the attributes of the recorded stream (posix_trace_get_attr). Errors: EINVAL the log
// is closed.
func (l *Log) Attr() (a StreamAttr, err error) {
	err = l.use("posix_trace_get_attr", func(r *Reader) error { a = r.Attr(); return nil })
	return
}

// Status returns the state of the stream when its log was completed (posix_trace_get_status). It
// resets nothing. If the log is incomplete or damaged, LogOverrunStatus is StatusOverrun, because
// events at its end are missing. Errors: EINVAL the log is closed.
func (l *Log) Status() (s Status, err error) {
	err = l.use("posix_trace_get_status", func(r *Reader) error {
		s = r.Status()
		if state, _ := r.State(); state != LogFinished {
			s.LogOverrunStatus = StatusOverrun
		}
		return nil
	})
	return
}

// EventName returns the name of an event type (posix_trace_eventid_get_name). Errors: EINVAL no
// type has that id, or the log is closed.
func (l *Log) EventName(id EventID) (name string, err error) {
	const op = "posix_trace_eventid_get_name"
	err = l.use(op, func(r *Reader) error {
		types, err := r.EventTypes()
		if err != nil {
			return err
		}
		for _, t := range types {
			if t.ID == id { // its name may be empty
				name = t.Name
				return nil
			}
		}
		return einval(op, "no event type has id %d", id)
	})
	return
}

// NextEventType returns the next type of the log's type list, and false at the end of the list
// (posix_trace_eventtypelist_getnext_id). Errors: EINVAL the log is closed.
func (l *Log) NextEventType() (id EventID, ok bool, err error) {
	err = l.use("posix_trace_eventtypelist_getnext_id", func(r *Reader) error {
		types, err := r.EventTypes()
		if err == nil && l.types < len(types) {
			id, ok = types[l.types].ID, true
			l.types++
		}
		return err
	})
	return
}

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind). Errors: EINVAL
// the log is closed.
func (l *Log) RewindEventTypes() error {
	return l.use("posix_trace_eventtypelist_rewind", func(r *Reader) error { l.types = 0; return nil })
}

// EventTypes returns all event types of the log, in the order of NextEventType, whose position it
// leaves alone. Errors: EINVAL the log is closed. Extension.
func (l *Log) EventTypes() (types []EventType, err error) {
	err = l.use("EventTypes", func(r *Reader) error {
		types, err = r.EventTypes()
		return err
	})
	return
}

var _ io.Closer = (*Log)(nil)
