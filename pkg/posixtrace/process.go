package posixtrace

import (
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// Process is a process for which the caller generates events, as ptrace-event
// does for the shell that runs it. It is not safe for concurrent use. Extension.
type Process struct {
	pid     int
	proc    *proc
	streams []*attachment
}

// OpenProcess connects to process pid, which must belong to the same user, and
// to the streams that trace it now. Errors: ESRCH, EPERM. Extension.
func OpenProcess(pid int) (*Process, error) {
	const op = "posix_trace_event"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	d, err := openDir()
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	pr, err := openProc(d, p)
	if err != nil {
		return nil, fail(op, err, syscall.ENOMEM)
	}
	if len(pr.page.Entries()) == 0 {
		inheritByName(pr)
	}
	r := &Process{pid: int(p.PID), proc: pr}
	for _, e := range pr.page.Entries() {
		if e.Flags&registry.Self == 0 {
			continue
		}
		c, err := openStream(d, e.Stream)
		if err != nil {
			continue
		}
		if c.mem.State()&stream.Dead != 0 || c.orphaned() {
			c.f.Close()
			continue
		}
		a, err := attach(c, p, 1)
		c.f.Close()
		if err == nil {
			a.w.Short()
			r.streams = append(r.streams, a)
		}
	}
	return r, nil
}

// OpenEventID is OpenEventID on behalf of the process.
func (p *Process) OpenEventID(name string) (EventID, error) {
	const op = "posix_trace_eventid_open"
	if len(name) > EventNameMax {
		return 0, &Error{Op: op, Err: syscall.ENAMETOOLONG}
	}
	id, err := p.proc.eventID(name)
	return id, fail(op, err, syscall.ENOMEM)
}

// Event records an event on behalf of the process, with its pid as process and
// thread, in every running stream that traces it, and returns how many took it.
func (p *Process) Event(id EventID, data []byte) (took int) {
	if !event.ID(id).User() || p.proc == nil {
		return 0
	}
	if _, ok := p.proc.names.Lookup(event.ID(id)); !ok {
		return 0
	}
	e := stream.Event{ID: event.ID(id), TID: uint32(p.pid)}
	for _, a := range p.streams {
		if a.w.Record(0, &e, data) {
			took++
		}
	}
	return took
}

// Streams returns the paths of the streams that trace the process.
func (p *Process) Streams() []string {
	var paths []string
	for _, a := range p.streams {
		paths = append(paths, a.c.path)
	}
	return paths
}

// Close ends the connection.
func (p *Process) Close() error {
	if p.proc == nil {
		return einval("posix_trace_event", "the connection is closed")
	}
	for _, a := range p.streams {
		a.close()
	}
	p.streams = nil
	p.proc.names.Close()
	p.proc.page.Close()
	p.proc = nil
	return nil
}
