package posixtrace

import (
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// LogState is the state of the log that a Reader reads. Extension.
type LogState uint8

// The states of a log.
const (
	LogFinished   LogState = iota // completed and sealed
	LogLive                       // its stream is still active
	LogUnfinished                 // ends without a seal: the owner was killed, or the file is cut off
	LogDamaged                    // a block is unsound; the events before it were read
)

// String returns "finished", "live", "unfinished" or "damaged".
func (s LogState) String() string {
	return [...]string{"finished", "live", "unfinished", "damaged"}[s&3]
}

// Reader reads the events of a log in any state, or of an active stream without consuming them, in
// the order of their times. It is not safe for concurrent use. Extension.
type Reader struct {
	log          *tracelog.Reader // nil for a stream without log
	mem          *stream.Snapshot // nil for a log whose stream is gone
	logDone      bool
	live         bool
	closed       bool
	c            *conn.Conn
	names        *registry.Names
	clock        *chunk.Clock // of the stream
	f            *os.File     // to be closed
	file         *os.File     // of the log
	sel          Selection
	since        int64
	until        int64
	rec          chunk.Record
	out          Record
	raw          []chunk.Record                                 // for NextBatch
	takeSnapshot func() (*stream.Snapshot, *chunk.Clock, error) // for Rewind
	known        []string                                       // names of event types by id, as far as they were needed
	queue        []Record                                       // Next reports these first: mappings, and their event
}

var errReaderClosed = closedError("the reader is closed")

var errNotFile = errors.New("not a regular file")

// NewReader returns a reader of the log in r, in any state. If r is an *os.File of a regular file,
// the reader reads at offsets of its own, starting at 0, and skips blocks outside its selection;
// the caller closes the file after the reader. Any other r is read forward, once, or again after
// Rewind if it is an io.Seeker. For a log that is still being recorded the reader also reports the events in the stream. If the owner died,
// NewReader completes the log first. Errors: EINVAL not a trace log; EIO reading failed. Extension.
func NewReader(r io.Reader) (*Reader, error) {
	const op = "NewReader"
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			rd, err := openFile(f, nil)
			return rd, fail(op, err, syscall.EINVAL)
		}
	}
	l, err := tracelog.OpenStream(r)
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	return newReader(&Reader{log: l}), nil
}

// newReader returns r with an empty selection.
func newReader(r *Reader) *Reader {
	r.since, r.until = math.MinInt64, math.MaxInt64
	return r
}

// Next returns the next event. At the end of the sound part of the log, or of the stream, it
// returns a bare io.EOF. The record belongs to the reader and is valid until the next call. Errors:
// EIO reading failed; EINVAL the reader is closed.
func (r *Reader) Next() (*Record, error) {
	if r.closed {
		return nil, fail("posix_trace_getnext_event", errReaderClosed, syscall.EINVAL)
	}
	for {
		if len(r.queue) > 0 {
			r.out = r.queue[0]
			r.queue = r.queue[1:]
			return &r.out, nil
		}
		clock := r.clock
		switch {
		case r.log != nil && !r.logDone:
			ok, err := r.log.Next(&r.rec)
			if err != nil {
				return nil, fail("posix_trace_getnext_event", err, syscall.EIO)
			}
			if !ok {
				r.logDone = true
				continue
			}
			clock = r.log.Clock()
		case r.mem != nil:
			more := r.mem.Next(&r.rec)
			runtime.KeepAlive(r)
			if !more {
				return nil, io.EOF
			}
			if !r.selects(r.rec.Event) && (r.rec.Maps == nil || !r.sel.Mappings) {
				continue
			}
		default:
			return nil, io.EOF
		}
		o := &r.out
		r.set(o, &r.rec, clock.Nanos(r.rec.Tick))
		if o.UnixNano < r.since || o.UnixNano >= r.until {
			continue
		}
		if r.rec.Maps != nil && r.sel.Mappings {
			r.queue = r.withMaps(r.queue[:0], &r.rec, o.UnixNano)
			continue
		}
		return o, nil
	}
}

// All iterates over the events that Next would report from here on, and ends after the last one or
// with an error. A record and its data are valid until the next iteration. Extension.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(*rec, nil) {
				return
			}
		}
	}
}

// Rewind goes back to the first event. The reader of a stream takes a new snapshot of it. Errors:
// ESPIPE the log is read forward, and its source cannot seek; EIO reading failed; EINVAL the reader is
// closed.
func (r *Reader) Rewind() error {
	defer runtime.KeepAlive(r)
	const op = "posix_trace_rewind"
	if r.closed {
		return fail(op, errReaderClosed, syscall.EINVAL)
	}
	r.queue = nil
	if r.log != nil {
		if err := r.log.Rewind(); err != nil {
			return fail(op, err, syscall.EIO)
		}
		r.logDone = false
	}
	switch {
	case r.mem == nil:
	case r.takeSnapshot != nil:
		var err error
		if r.mem, r.clock, err = r.takeSnapshot(); err != nil {
			return fail(op, err, syscall.EINVAL)
		}
		if r.sel.Mappings {
			r.mem.ReportMaps()
		}
	default:
		r.mem.Rewind()
	}
	return nil
}

// Renew adds the events that a live stream or log has received since NewReader or the last Renew,
// and goes back to the first selected event. From then on the reader omits events before since. It
// does not walk through known blocks again, so the cost of a Renew does not grow with the log.
// After an error the caller may only call Close. Errors: ESPIPE the log is not a regular file;
// EINVAL the reader is closed. Extension.
func (r *Reader) Renew(since time.Time) error {
	defer runtime.KeepAlive(r)
	const op = "Renew"
	if r.closed {
		return fail(op, errReaderClosed, syscall.EINVAL)
	}
	sel := r.sel
	if since.After(sel.Since) {
		sel.Since = since
	}
	switch {
	case r.log != nil && r.file == nil:
		return fail(op, syscall.ESPIPE, syscall.ESPIPE)
	case r.log != nil:
		if anchors := r.log.Clock().Anchors(); len(anchors) > 0 && !sel.Since.IsZero() {
			// Behind the last clock anchor the clock may still change.
			sure := min(sel.Since.UnixNano(), anchors[len(anchors)-1].Nanos)
			r.log.Forget(firstTick(r.log.Clock(), sure))
		}
		n, err := openFile(r.file, r.log)
		if err != nil {
			return fail(op, err, syscall.EINVAL)
		}
		n.f, n.names, n.known = r.f, r.names, r.known
		r.disconnect()
		*r = *n
	case r.takeSnapshot != nil:
		var err error
		if r.mem, r.clock, err = r.takeSnapshot(); err != nil {
			return fail(op, err, syscall.EINVAL)
		}
	}
	r.Select(sel)
	return nil
}

// State returns the state of the log and, for a damaged or unfinished log, an error that says where
// and why. For a log that is read forward the state is certain after Next has returned io.EOF.
func (r *Reader) State() (LogState, error) {
	if r.log == nil {
		return LogLive, nil
	}
	state, err := r.log.State()
	switch {
	case state == tracelog.Damaged:
		return LogDamaged, err
	case r.live:
		return LogLive, nil
	case state == tracelog.Unfinished:
		return LogUnfinished, err
	}
	return LogFinished, nil
}

// Attr returns the attributes of the recorded stream.
func (r *Reader) Attr() StreamAttr {
	defer runtime.KeepAlive(r)
	if r.log == nil {
		return attrOf(r.c)
	}
	return streamAttr(&r.log.Super().Attributes)
}

// Status returns the state of the stream: the current one of an active stream, else the one at the
// end of the log as far as the log has it. It resets nothing.
func (r *Reader) Status() Status {
	defer runtime.KeepAlive(r)
	if r.c != nil {
		return toStatus(r.c.Mem.Status(false))
	}
	s, _ := r.log.Status()
	return toStatus(stream.Status{
		Running: s.Running, Full: s.Full, Overrun: s.Overrun, Flushing: s.Flushing, FlushErr: s.FlushError,
		LogOverrun: s.LogOverrun, LogFull: s.LogFull, Lost: s.Lost, LogLost: s.LogLost,
	})
}

// name returns EventName from a cache. The name of an event type never changes.
func (r *Reader) name(id EventID) string {
	if int(id) < len(r.known) && r.known[id] != "" {
		return r.known[id]
	}
	name := r.EventName(id)
	if name != "" && id < EventID(event.Max) {
		for int(id) >= len(r.known) {
			r.known = append(r.known, "")
		}
		r.known[id] = name
	}
	return name
}

// EventName returns the name of an event type, or "" if the type has none or its name is empty.
func (r *Reader) EventName(id EventID) string {
	if r.log != nil {
		if n := r.log.TypeName(event.ID(id)); n != "" || r.c == nil {
			return n
		}
	}
	defer runtime.KeepAlive(r)
	names, err := r.familyNames()
	if err != nil {
		return event.PredefinedName(event.ID(id))
	}
	return names.Name(event.ID(id))
}

// familyNames returns the names of the stream's family, for events that are not in the log yet.
func (r *Reader) familyNames() (*registry.Names, error) {
	defer runtime.KeepAlive(r)
	if r.names == nil {
		n, err := conn.OpenNames(r.c.Dir, r.c.Mem.Family())
		if err != nil {
			return nil, err
		}
		r.names = n
	}
	return r.names, nil
}

// EventTypes returns the event types known so far: of a log that is read forward the types in the
// part read, of any other log and of a stream all types. Errors: EIO the names of an active stream
// cannot be opened.
func (r *Reader) EventTypes() ([]EventType, error) {
	defer runtime.KeepAlive(r)
	if r.c != nil {
		names, err := r.familyNames()
		if err != nil {
			return nil, fail("EventTypes", err, syscall.EIO)
		}
		return eventTypes(names), nil
	}
	defs := r.log.Types()
	types := make([]EventType, len(defs))
	for i, t := range defs {
		types[i] = EventType{EventID(t.ID), t.Name}
	}
	return types, nil
}

// disconnect ends the connection that the reader of a log has to the log's stream.
func (r *Reader) disconnect() {
	if r.log != nil && r.c != nil {
		r.c.Release()
		r.c, r.mem = nil, nil
	}
	runtime.KeepAlive(r)
}

// Close ends the use of the reader. Afterwards Next, NextBatch, Count, Rewind, Renew, WriteLog and Close
// fail with EINVAL and os.ErrClosed.
func (r *Reader) Close() error {
	if r.closed {
		return fail("Close", errReaderClosed, syscall.EINVAL)
	}
	r.closed = true
	r.disconnect()
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
	if r.log != nil && r.names != nil {
		r.names.Close() // those of a stream without log are the Stream's
	}
	return nil
}

// Origin is where a stream was recorded. Extension.
type Origin struct {
	Host    string
	BootID  string
	PID     int      // the traced process; in a log, 0 if that process started after the log
	Owner   int      // the owner; in a log, when the log began
	Command []string // the command line of the owner
	LogID   uint64   // the random number of the log: two logs of cloned machines differ in it
}

// Origin returns the origin of the stream. Fields that the log does not have are zero. Extension.
func (r *Reader) Origin() Origin {
	defer runtime.KeepAlive(r)
	if r.log == nil {
		host, _ := os.Hostname()
		m := r.c.Mem
		return Origin{Host: host, BootID: m.BootID, PID: int(m.Target().PID), Owner: int(m.Owner().PID), Command: r.c.Command()}
	}
	s := r.log.Super()
	return Origin{Host: s.Host, BootID: s.BootID, PID: int(s.PID), Owner: int(s.Owner), Command: s.Command, LogID: s.ID}
}

// Newer returns the version of the format of a log if it is newer than this package, such as "1.1", else
// "". The log may then have more than the reader reports. Extension.
func (r *Reader) Newer() string {
	if r.log == nil {
		return ""
	}
	return r.log.Super().Newer()
}
