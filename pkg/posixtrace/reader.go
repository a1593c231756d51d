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
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// Record is an event with the name of its type and its data. Extension.
type Record struct {
	EventInfo
	Name string // of the event type; "" if the type has no name
	Data []byte // valid until the reader reads its next event, or for a Batch until it is filled again
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
type Reader struct {
	log *tracelog.Reader // nil for a stream without log, and
	mem *stream.Snapshot // nil for a log whose stream is gone
	// whether the log has been read to its end
	logDone bool
	live    bool
	closed  bool
	c       *conn
	names   *registry.Names
	clock   *chunk.Clock // of the stream
	f       *os.File     // to be closed
	file    *os.File     // of the log
	sel     Selection
	since   int64
	until   int64
	rec     chunk.Record
	out     Record
	raw     []chunk.Record                                 // for NextBatch
	made    func() (*stream.Snapshot, *chunk.Clock, error) // for Rewind
	known   []string                                       // names of event types by id, as far as they were needed
}

var errReaderClosed = closedError("the reader is closed")

var errNotFile = errors.New("not a regular file")

// NewReader returns a reader of the log in r. If r is an *os.File on a regular
// file it is read positionally from offset 0 and blocks that a selection rules out are
// skipped; anything else is read forward once. Of a log that is still being recorded
// the reader also reports what its stream holds. Errors: EINVAL not a trace log. Extension.
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

func newReader(r *Reader) *Reader {
	r.since, r.until = math.MinInt64, math.MaxInt64
	return r
}

// openFile opens the log in a regular file, and its stream if that is active. l is what is known
// of the log from an earlier look, or nil.
func openFile(f *os.File, l *tracelog.Reader) (*Reader, error) {
	look := func() error {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if l != nil {
			if ok, err := l.Extend(st.Size()); ok || err != nil {
				return err
			}
		}
		l, err = tracelog.OpenFile(f, st.Size())
		return err
	}
	read := func(r *Reader) (*Reader, error) {
		r.log, r.file = l, f
		return newReader(r), nil
	}
	if err := look(); err != nil {
		return nil, err
	}
	if state, _ := l.State(); state == tracelog.Finished {
		return read(&Reader{})
	}
	c := streamOf(l.Super(), f)
	if c == nil {
		// Perhaps it has been shut down since the look at its log.
		if err := look(); err != nil {
			return nil, err
		}
		return read(&Reader{})
	}
	kept := false
	defer func() {
		if kept {
			c.f.Close() // it is needed for the lock only
		} else {
			c.release()
		}
	}()
	live := true
	if c.orphaned() || c.dead() {
		// Its owner died: the log is completed by whoever comes next, us. Where it
		// cannot be written what it lacks is read from the stream.
		if complete(c, false) == nil || c.dead() {
			l = nil
			if err := look(); err != nil {
				return nil, err
			}
			return read(&Reader{})
		}
		live = false
	}
	// What came during a long look is looked at before the lock is taken, too.
	if err := look(); err != nil {
		return nil, err
	}
	// A flush moves events from the stream to the log. Under the stream's lock
	// there is none, and each event is in one of the two.
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dead := c.dead()
	if dead {
		l = nil // it was completed meanwhile, and the stream's memory may be gone
	}
	if err := look(); err != nil {
		return nil, err
	}
	if dead {
		return read(&Reader{})
	}
	r := &Reader{c: c, live: live}
	if r.mem, r.clock = peek(c); c.cut() {
		return read(&Reader{})
	}
	kept = true
	return read(r)
}

// streamOf returns the active stream whose log is in f, or nil.
func streamOf(s *tracelog.Super, f *os.File) *conn {
	if boot := sys.BootID(); s.BootID != boot && s.BootID != "" && boot != "" {
		return nil
	}
	// Whoever wrote the log says so. What cannot be a stream is not even opened: that is
	// enough to set off some devices.
	if _, ok := registry.StreamIDOfPath(s.StreamPath); !ok {
		return nil
	}
	c, err := openPath(s.StreamPath)
	if err != nil {
		return nil
	}
	st, err := sys.Fstat(f)
	if err != nil || c.mem.ID != s.ID || c.mem.LogDev != st.Dev || c.mem.LogIno != st.Ino {
		c.release()
		return nil
	}
	return c
}

// peek takes a picture of what a stream holds, which is good unless the stream turns out to
// have been cut short. The caller holds the stream's lock.
func peek(c *conn) (*stream.Snapshot, *chunk.Clock) {
	r := c.mem.Snapshot()
	c.probe()
	return r, c.mem.FreshClock()
}

// openRegular opens a file for reading whose name comes from a stream. Anything else than
// a regular file is not even opened: a FIFO would make us wait, or take what is
// another's.
func openRegular(path string) (*os.File, error) {
	return sys.OpenForReading(path, func(st *sys.FileStat) error {
		if !st.Regular() {
			return errNotFile
		}
		return nil
	})
}

// Reader returns a reader over what the stream holds now: its log, if it is a
// regular file that can be read, then the stream itself. Nothing is consumed;
// events that are overwritten meanwhile are left out. Extension.
func (s *Stream) Reader() (*Reader, error) {
	defer runtime.KeepAlive(s)
	const op = "Reader"
	if s.isClosed() {
		return nil, fail(op, s.whyClosed(), syscall.EINVAL)
	}
	if s.c.mem.HasLog {
		if f, err := openRegular(s.c.mem.LogPath); err == nil {
			if st, e := sys.Fstat(f); e == nil && st.Regular() && st.Dev == s.c.mem.LogDev && st.Ino == s.c.mem.LogIno {
				r, err := openFile(f, nil)
				// One that is held back is still what it was before.
				if err == nil && r.log.Super().ID == s.c.mem.ID {
					r.f = f
					return r, nil
				}
				if err == nil {
					r.leave()
				}
			}
			f.Close()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.openNames()
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	r := newReader(&Reader{c: s.c, names: names, live: true})
	made := func() (mr *stream.Snapshot, c *chunk.Clock, err error) {
		err = s.locked(func(m *stream.Mem, w *stream.Writer) error {
			m.Recover(gone)
			if mr, c = peek(s.c); s.c.cut() { // what was seen may be zeros
				return errCut
			}
			return nil
		})
		return
	}
	r.made = func() (*stream.Snapshot, *chunk.Clock, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return made()
	}
	if r.mem, r.clock, err = made(); err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	return r, nil
}

// Selection narrows what a Reader reports. Zero members select everything.
type Selection struct {
	Since, Until time.Time // events at or after Since and before Until
	Types        *EventSet // events of these types
}

// Select narrows the reader to a selection; it is called before Next.
func (r *Reader) Select(sel Selection) {
	r.sel = sel
	r.since, r.until = math.MinInt64, math.MaxInt64
	if !sel.Since.IsZero() {
		r.since = sel.Since.UnixNano()
	}
	if !sel.Until.IsZero() {
		r.until = sel.Until.UnixNano()
	}
	if r.log == nil {
		return
	}
	var types *event.Set
	if sel.Types != nil {
		types = &sel.Types.s
	}
	lo, hi := uint64(0), uint64(math.MaxUint64)
	if len(r.log.Clock().Anchors()) > 0 {
		c := r.log.Clock()
		if r.since != math.MinInt64 {
			lo = firstTick(c, r.since)
		}
		if r.until != math.MaxInt64 {
			hi = firstTick(c, r.until)
		}
	}
	r.log.Select(lo, hi, types)
}

// firstTick returns the first tick whose time is not before nanos.
func firstTick(c *chunk.Clock, nanos int64) uint64 {
	lo, hi := uint64(0), uint64(1)<<62
	for lo < hi {
		mid := lo + (hi-lo)/2
		if c.Nanos(mid) < nanos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Next returns the next event, io.EOF at the end of what is sound. The record
// is the reader's own and valid until the next call. Errors: EIO reading failed.
func (r *Reader) Next() (*Record, error) {
	if r.closed {
		return nil, fail("posix_trace_getnext_event", errReaderClosed, syscall.EINVAL)
	}
	for {
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
			if r.sel.Types != nil && !r.sel.Types.s.Has(r.rec.Event) {
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
		return o, nil
	}
}

// All iterates over the events that Next would report from here on, and ends with those or with an
// error. A record and its data are valid until the next iteration. Extension.
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

// Rewind goes back to the first event. Errors: ESPIPE the log is not a file.
func (r *Reader) Rewind() error {
	defer runtime.KeepAlive(r)
	const op = "posix_trace_rewind"
	if r.closed {
		return fail(op, errReaderClosed, syscall.EINVAL)
	}
	if r.log != nil {
		if err := r.log.Rewind(); err != nil {
			return fail(op, err, syscall.EIO)
		}
		r.logDone = false
	}
	switch {
	case r.mem == nil:
	case r.made != nil:
		var err error
		if r.mem, r.clock, err = r.made(); err != nil {
			return fail(op, err, syscall.EINVAL)
		}
	default:
		r.mem.Rewind()
	}
	return nil
}

// Renew takes in what has come to a live stream or log since the reader was made, and goes back to
// the first event that is selected. Events before since are left out from then on. What the
// reader has seen of a log it does not look for again, so the cost of looking again
// and again does not grow with the log. After an error only Close may be called. Errors: ESPIPE the
// log is not a file. Extension.
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
		r.leave()
		*r = *n
	case r.made != nil:
		var err error
		if r.mem, r.clock, err = r.made(); err != nil {
			return fail(op, err, syscall.EINVAL)
		}
	}
	r.Select(sel)
	return nil
}

// State tells in which state the log is, after Next has returned io.EOF for a
// log read forward, and what is wrong with a damaged or unfinished one.
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
		return r.c.attr()
	}
	s := r.log.Super()
	a := StreamAttr{
		Name: s.Name, StreamFullPolicy: policy(uint8(s.StreamPolicy)), LogFullPolicy: policy(uint8(s.LogPolicy)),
		StreamSize: int64(min(s.StreamSize, math.MaxInt64)), MaxDataSize: int(min(s.MaxData, math.MaxInt32)),
		LogSize: int64(min(s.LogSize, math.MaxInt64)), GenerationVersion: s.Generation,
		CreateTime: time.Unix(s.CreateSec, int64(s.CreateNsec)), ClockResolution: time.Duration(min(s.Resolution, math.MaxInt64)),
	}
	if s.Inherited {
		a.Inheritance = InheritChildren
	}
	return a
}

// Status returns the state of the stream when the log was completed, or as far
// as it is known.
func (r *Reader) Status() Status {
	defer runtime.KeepAlive(r)
	if r.c != nil {
		return toStatus(r.c.mem.Status(false))
	}
	s, _ := r.log.Status()
	return toStatus(stream.Status{
		Running: s.Running, Full: s.Full, Overrun: s.Overrun, Flushing: s.Flushing, FlushErr: s.FlushError,
		LogOverrun: s.LogOverrun, LogFull: s.LogFull, Lost: s.Lost, LogLost: s.LogLost,
	})
}

// Origin tells where a stream was recorded. Extension.
type Origin struct {
	Host    string
	BootID  string
	PID     int      // the traced process
	Command []string // the command line of the owner
}

// Origin returns what is known of where the stream was recorded.
func (r *Reader) Origin() Origin {
	defer runtime.KeepAlive(r)
	if r.log == nil {
		host, _ := os.Hostname()
		m := r.c.mem
		return Origin{Host: host, BootID: m.BootID, PID: int(m.Target().PID), Command: splitCommand(m.Command)}
	}
	s := r.log.Super()
	return Origin{Host: s.Host, BootID: s.BootID, PID: int(s.PID), Command: s.Command}
}

// name is EventName with a memory. The name of an event type never changes.
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

// EventName returns the name of an event type, or "" if it has none.
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

// familyNames opens the names of the stream's family, for events that are not
// yet in the log.
func (r *Reader) familyNames() (*registry.Names, error) {
	defer runtime.KeepAlive(r)
	if r.names == nil {
		n, err := openNames(r.c.dir, r.c.mem.Family())
		if err != nil {
			return nil, err
		}
		r.names = n
	}
	return r.names, nil
}

// EventTypes returns the event types known so far: those of the part of a log that has been read
// forward, all of a log in a regular file or of a stream. The error is that of opening the names of a
// live stream.
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

// leave gives up the connection of a log's reader to the stream, which is its own.
func (r *Reader) leave() {
	if r.log != nil && r.c != nil {
		r.c.release()
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
	r.leave()
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
	if r.log != nil && r.names != nil {
		r.names.Close() // those of a stream without log are the Stream's
	}
	return nil
}
