package posixtrace

import (
	"runtime"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

// Recorder records system events, and events on behalf of traced processes. It is not safe for
// concurrent use: make one for each goroutine. Extension.
type Recorder struct {
	s     *Stream
	a     *conn.Attachment
	tick  uint64 // the last result of Now, on both clocks
	nanos int64

	// The last time given to Record, on both clocks. The clocks are not read at one instant, but a
	// later time must not get an earlier tick.
	given struct {
		tick  uint64
		nanos int64
	}
}

// flushPause is how long after a failed flush a full stream stays full.
const flushPause = 100 * time.Millisecond

// flushWait bounds how long Record waits for a flush by the owner.
const flushWait = 200 * time.Millisecond

// Recorder returns a Recorder for the stream. If the stream is full, Record of the owner of a
// stream with log flushes the stream rather than lose the event, unless the log has accepted no
// data for seconds; with PolicyFlush, Record of another process asks the owner for a flush and
// waits up to 200 ms. Errors: EAGAIN too many writers; EINVAL the stream is closed. Extension.
func (s *Stream) Recorder() (*Recorder, error) {
	defer runtime.KeepAlive(s)
	const op = "Recorder"
	s.mu.Lock()
	defer s.mu.Unlock()
	var a *conn.Attachment
	err := s.locked(func(m *stream.Mem, w *stream.Writer) (err error) {
		if a, err = conn.AttachLocked(s.c); err == nil {
			a.Writer.Alone()
		}
		return err
	})
	if err != nil {
		return nil, fail(op, err, syscall.EINVAL)
	}
	flush := s.awaitFlush
	if o := s.log; o != nil {
		flush = o.TryFlush
	}
	if s.log != nil && s.c.Mem.Policy != stream.Loop || s.c.Mem.Policy == stream.Flush {
		var failed time.Time
		a.Writer.OnFull = func() bool {
			// After a failed flush do not retry for each event.
			if !failed.IsZero() && time.Since(failed) < flushPause {
				return false
			}
			// A flush that failed only to sync has made room.
			if err := flush(); err != nil && s.c.Mem.State()&stream.Running == 0 {
				failed = time.Now()
				return false
			}
			failed = time.Time{}
			return s.c.Mem.State()&stream.Running != 0
		}
	}
	runtime.SetFinalizer(a, (*conn.Attachment).Close)
	return &Recorder{s: s, a: a}, nil
}

// awaitFlush asks the owner for a flush and waits for it for at most flushWait: an owner that is
// stopped must not stop the processes that it traces.
func (s *Stream) awaitFlush() error {
	defer runtime.KeepAlive(s)
	m := s.c.Mem
	ticket := m.AskFlush()
	for end := time.Now().Add(flushWait); ; time.Sleep(owner.PollBusy) {
		switch no, done := m.FlushDone(ticket); {
		case done && no != 0:
			return syscall.Errno(no)
		case done:
			return nil
		case s.isClosed() || time.Now().After(end):
			return s.whyClosed()
		}
	}
}

var errRecorderClosed = closedError("the recorder is closed")

// Wants reports whether Record would record an event of type id now. A caller that makes expensive
// data asks first.
func (r *Recorder) Wants(id EventID) bool {
	wants := r.a != nil && event.ID(id).Valid() && r.a.Writer.Wants(event.ID(id))
	runtime.KeepAlive(r)
	return wants
}

// Record records one event with the ID, PID, TID, Address, Span and Parent of ev, at the time
// ev.UnixNano or, if that is 0, now. It reports whether the stream recorded the event: false if the
// stream is suspended, rejects the type, or is full.
func (r *Recorder) Record(ev EventInfo, data []byte) bool {
	if r.a == nil || !event.ID(ev.ID).Valid() {
		return false
	}
	e := stream.Event{
		ID: event.ID(ev.ID), PID: uint32(ev.PID), TID: uint32(ev.TID), Addr: ev.Address,
		Span: stream.Span{Key: ev.Span, Parent: ev.Parent},
	}
	switch ev.UnixNano {
	case 0:
	case r.nanos:
		e.Tick = r.tick
	default:
		e.Tick = r.s.c.Mem.TickAt(ev.UnixNano)
		if ev.UnixNano >= r.given.nanos {
			e.Tick = max(e.Tick, r.given.tick)
			r.given.tick, r.given.nanos = e.Tick, ev.UnixNano
		}
	}
	ok := r.a.Writer.Record(0, &e, data)
	runtime.KeepAlive(r)
	return ok
}

// lose is tool.Lose.
func (r *Recorder) lose(n uint64) {
	if r.a != nil && n > 0 {
		r.s.c.Mem.AddLost(n)
	}
	runtime.KeepAlive(r)
}

// owe serves tool.Owe for a Recorder.
func (r *Recorder) owe(id EventID, owing bool) {
	if r.a != nil && event.ID(id).Valid() {
		r.a.Writer.Owe(event.ID(id), owing)
	}
	runtime.KeepAlive(r)
}

// Now returns the time on the stream's own clock, for the UnixNano of several events at one time.
func (r *Recorder) Now() int64 {
	if r.a != nil {
		r.tick, r.nanos = r.s.c.Mem.NanosNow()
	}
	runtime.KeepAlive(r)
	return r.nanos
}

// Close ends the recorder and frees its slot in the stream. Errors: EINVAL the recorder is closed.
func (r *Recorder) Close() error {
	defer runtime.KeepAlive(r)
	if r.a == nil {
		return fail("Close", errRecorderClosed, syscall.EINVAL)
	}
	runtime.SetFinalizer(r.a, nil)
	r.a.Close()
	r.a = nil
	return nil
}

// Process is a process on whose behalf the caller records events, as ptrace-event does for the
// shell that runs it. It is not safe for concurrent use. Extension.
type Process struct {
	who     sys.Proc
	tid     uint32
	span    stream.Span
	dir     *registry.Dir
	proc    *tracee.Proc // nil until it is needed
	streams []*conn.Attachment
	closed  bool
}

// OpenProcess connects to process pid, which must belong to the same user, and to the streams that
// trace it now. Errors: ESRCH no such process; EPERM no permission to trace it; those of the trace
// directory (ErrDirectory). Extension.
func OpenProcess(pid int) (*Process, error) {
	const op = "OpenProcess"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	d, err := conn.OpenDir()
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	r := &Process{who: p, tid: p.PID, dir: d}
	// No stream traces most scripts: keep that case cheap.
	if page, err := d.Page(p, false); err == nil {
		if r.proc, err = tracee.WithPage(d, page); err != nil {
			return nil, fail(op, err, syscall.ENOMEM)
		}
	} else if some, err := d.HasStreams(); err == nil && !some {
		return r, nil
	}
	pr, err := r.open()
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	if len(pr.Page.Entries()) == 0 {
		tracee.InheritByName(pr)
	}
	for _, e := range pr.Page.Entries() {
		if e.Flags&registry.Self == 0 {
			continue
		}
		c, err := conn.Open(d, e.Stream)
		if err != nil {
			tracee.NoteMissed(d, e.Stream, err)
			continue
		}
		if c.Dead() || c.Orphaned() {
			c.Release()
			continue
		}
		a, err := conn.Attach(c, p, 1)
		if err != nil {
			tracee.NoteRefused(c, err)
			c.Release()
			continue
		}
		c.File.Close()
		a.Writer.Short()
		r.streams = append(r.streams, a)
	}
	return r, nil
}

// open returns the page and the names of the process, and makes them if necessary.
func (p *Process) open() (pr *tracee.Proc, err error) {
	if p.proc == nil {
		if p.dir.Gone() {
			if p.dir, err = conn.OpenDir(); err != nil {
				return nil, err
			}
		}
		p.proc, err = tracee.OpenProc(p.dir, p.who)
	}
	return p.proc, err
}

var errProcessClosed = closedError("the connection is closed")

// OpenEventID is the function OpenEventID on behalf of the process. Errors: those of that function;
// EINVAL p is closed.
func (p *Process) OpenEventID(name string) (EventID, error) {
	const op = "posix_trace_eventid_open"
	if len(name) > EventNameMax {
		return 0, &Error{Op: op, Err: syscall.ENAMETOOLONG}
	}
	if p.closed {
		return 0, fail(op, errProcessClosed, syscall.EINVAL)
	}
	pr, err := p.open()
	if err != nil {
		return 0, fail(op, err, syscall.ENOMEM)
	}
	id, err := pr.EventID(name)
	return EventID(id), fail(op, err, syscall.ENOMEM)
}

// SetThread makes tid the thread of later events, in place of the process's pid. It separates the
// spans of several programs that act on behalf of one process at a time.
func (p *Process) SetThread(tid int) { p.tid = uint32(tid) }

// SetSpan gives later events the key of a span and of the span around it; 0 means none. The caller
// chooses the keys.
func (p *Process) SetSpan(span, parent uint64) { p.span = stream.Span{Key: span, Parent: parent} }

// Event records an event on behalf of the process in every running stream that traces it, and
// returns the number of streams that recorded it. The event has the pid of the process as process
// and thread (but see SetThread). Of system events, Event records EventProcContext only.
func (p *Process) Event(id EventID, data []byte) (took int) {
	if !event.ID(id).User() && id != EventProcContext || p.proc == nil {
		return 0
	}
	if _, ok := p.proc.Names.Lookup(event.ID(id)); !ok {
		return 0
	}
	e := stream.Event{ID: event.ID(id), TID: p.tid, Span: p.span}
	for _, a := range p.streams {
		if a.Writer.Record(0, &e, data) {
			took++
		}
	}
	runtime.KeepAlive(p)
	return took
}

// owe serves tool.Owe for a Process.
func (p *Process) owe(id EventID, owing bool) {
	if event.ID(id).Valid() {
		for _, a := range p.streams {
			a.Writer.Owe(event.ID(id), owing)
		}
	}
	runtime.KeepAlive(p)
}

// Streams returns the paths of the streams that trace the process.
func (p *Process) Streams() []string {
	defer runtime.KeepAlive(p)
	var paths []string
	for _, a := range p.streams {
		paths = append(paths, a.Conn.Path)
	}
	return paths
}

// Close ends the connection. Errors: EINVAL p is closed.
func (p *Process) Close() error {
	defer runtime.KeepAlive(p)
	if p.closed {
		return fail("Close", errProcessClosed, syscall.EINVAL)
	}
	p.closed = true
	for _, a := range p.streams {
		a.Close()
		a.Conn.Release()
	}
	p.streams = nil
	if p.proc != nil {
		p.proc.Names.Close()
		p.proc.Page.Close()
		p.proc = nil
	}
	return nil
}
