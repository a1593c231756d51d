package posixtrace

import (
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

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

// owe is tool.Owe for a Process.
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
