package posixtrace

import (
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Process is a process for which the caller generates events, as ptrace-event
// does for the shell that runs it. It is not safe for concurrent use. Extension.
type Process struct {
	who     sys.Proc
	tid     uint32
	span    stream.Span
	dir     *registry.Dir
	proc    *proc // nil until it is needed
	streams []*attachment
	closed  bool
}

// OpenProcess connects to process pid, which must belong to the same user, and
// to the streams that trace it now. Errors: ESRCH, EPERM. Extension.
func OpenProcess(pid int) (*Process, error) {
	const op = "OpenProcess"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	d, err := openDir()
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	r := &Process{who: p, tid: p.PID, dir: d}
	// Most scripts are traced by nobody, and that should cost them next to nothing.
	if page, err := d.Page(p, false); err == nil {
		if r.proc, err = withPage(d, page); err != nil {
			return nil, fail(op, err, syscall.ENOMEM)
		}
	} else if some, err := d.HasStreams(); err == nil && !some {
		return r, nil
	}
	pr, err := r.open()
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	if len(pr.page.Entries()) == 0 {
		inheritByName(pr)
	}
	for _, e := range pr.page.Entries() {
		if e.Flags&registry.Self == 0 {
			continue
		}
		c, err := openStream(d, e.Stream)
		if err != nil {
			noteMissed(d, e.Stream, err)
			continue
		}
		if c.dead() || c.orphaned() {
			c.release()
			continue
		}
		a, err := attach(c, p, 1)
		if err != nil {
			var m misses
			m.note(c.id, err, c.addMissed)
			c.release()
			continue
		}
		c.f.Close()
		a.w.Short()
		r.streams = append(r.streams, a)
	}
	return r, nil
}

// open returns what the process has in the trace directory, which is made if it is
// not there yet.
func (p *Process) open() (pr *proc, err error) {
	if p.proc == nil {
		if p.dir.Gone() {
			if p.dir, err = openDir(); err != nil {
				return nil, err
			}
		}
		p.proc, err = openProc(p.dir, p.who)
	}
	return p.proc, err
}

var errProcessClosed = closedError("the connection is closed")

// OpenEventID is OpenEventID on behalf of the process.
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
	id, err := pr.eventID(name)
	return id, fail(op, err, syscall.ENOMEM)
}

// SetThread makes tid the thread of the events from now on, in place of the
// process's pid. Several programs that act for one process at the same time tell
// their spans apart by it.
func (p *Process) SetThread(tid int) { p.tid = uint32(tid) }

// SetSpan makes the events from now on those of the span with this key, which lies within
// the one with the key parent; 0 stands for none. The keys are the caller's choice.
func (p *Process) SetSpan(span, parent uint64) { p.span = stream.Span{Key: span, Parent: parent} }

// Event records an event on behalf of the process, with its pid as process and
// thread (but see SetThread), in every running stream that traces it, and returns
// how many took it.
func (p *Process) Event(id EventID, data []byte) (took int) {
	if !event.ID(id).User() || p.proc == nil {
		return 0
	}
	if _, ok := p.proc.names.Lookup(event.ID(id)); !ok {
		return 0
	}
	e := stream.Event{ID: event.ID(id), TID: p.tid, Span: p.span}
	for _, a := range p.streams {
		if a.w.Record(0, &e, data) {
			took++
		}
	}
	runtime.KeepAlive(p)
	return took
}

// Streams returns the paths of the streams that trace the process.
func (p *Process) Streams() []string {
	defer runtime.KeepAlive(p)
	var paths []string
	for _, a := range p.streams {
		paths = append(paths, a.c.path)
	}
	return paths
}

// Close ends the connection.
func (p *Process) Close() error {
	defer runtime.KeepAlive(p)
	if p.closed {
		return fail("Close", errProcessClosed, syscall.EINVAL)
	}
	p.closed = true
	for _, a := range p.streams {
		a.close()
		a.c.release()
	}
	p.streams = nil
	if p.proc != nil {
		p.proc.names.Close()
		p.proc.page.Close()
		p.proc = nil
	}
	return nil
}
