package posixtrace

import (
	"runtime"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Attach connects to an active stream of the same user by name or, when it
// contains a slash, by the path of its file (StreamInfo.Path). Streams that a process
// which is gone has left behind count only if there is no other of that name. The
// caller does not become its owner. Errors: ENOENT no such stream; EEXIST several of that
// name; EACCES not ours; EINVAL not a stream. Extension.
func Attach(nameOrPath string) (*Stream, error) {
	const op = "Attach"
	if strings.Contains(nameOrPath, "/") {
		c, err := openPath(nameOrPath)
		if err != nil {
			return nil, fail(op, err, syscall.EINVAL)
		}
		if c.dead() {
			cut := c.cut()
			c.release()
			if cut {
				return nil, fail(op, errCut, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		if c.orphaned() {
			err := shutdownOrphan(c, false)
			c.release()
			if err != nil {
				return nil, fail(op, err, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		return newStream(c), nil
	}
	var living, stale []*conn
	err := eachStream(func(c *conn) error {
		switch {
		case c.mem.Name != nameOrPath:
			c.release()
		case c.stale():
			stale = append(stale, c)
		default:
			living = append(living, c)
		}
		return nil
	})
	found := living
	if len(found) == 0 {
		found = stale
	}
	switch {
	case err != nil:
	case len(found) == 0:
		err = syscall.ENOENT
	case len(found) > 1:
		err = syscall.EEXIST
	}
	for _, c := range append(living, stale...) {
		if err != nil || c != found[0] {
			c.release()
		}
	}
	if err != nil {
		return nil, fail(op, err, syscall.EIO)
	}
	return newStream(found[0]), nil
}

// Adopt makes pid, a child started since CreateForChild, the process the stream
// traces. Errors: ESRCH, EPERM, EINVAL when the stream already has a process. Extension.
func (s *Stream) Adopt(pid int) error {
	defer runtime.KeepAlive(s)
	const op = "Adopt"
	p, err := sys.Lookup(pid)
	if err == nil {
		err = sys.MayTrace(p)
	}
	if err != nil {
		return fail(op, err, syscall.ESRCH)
	}
	if s.isClosed() {
		return fail(op, s.whyClosed(), syscall.EINVAL)
	}
	m := s.c.mem
	if m.Target().PID != 0 {
		return einval(op, "the stream traces process %d already", m.Target().PID)
	}
	unlock, err := s.c.dir.Lock()
	if err != nil {
		return fail(op, err, syscall.EINVAL)
	}
	defer unlock()
	m.SetTarget(p)
	flags := registry.Self
	if m.Inherit {
		flags |= registry.Inherit
	}
	// The child has its page before the entry it may inherit from goes away.
	page, err := s.c.dir.Page(p, true)
	if err == nil {
		// A child started by way of another process inherits nothing of a stream
		// that is not inherited, and would name its events in a family of its
		// own. One that has named some already stays where it is.
		page.SetFamily(m.Family())
		err = page.Attach(s.c.id, flags)
		page.Close()
	}
	if own, e := s.c.dir.Page(sys.SelfProc(), false); e == nil {
		own.Detach(s.c.id)
		own.Close()
	}
	return fail(op, err, syscall.EAGAIN)
}

// Handover makes pid the owner of the stream: its death, not the caller's,
// shuts a stream with log down. One without log stays then, to be read, until it is shut down
// or its room is needed for another (Stream.MadeRoom). Errors: ESRCH, EPERM. Extension.
func (s *Stream) Handover(pid int) error {
	defer runtime.KeepAlive(s)
	const op = "Handover"
	p, err := sys.Lookup(pid)
	if err == nil && p != sys.SelfProc() {
		err = sys.MayTrace(p)
	}
	if err != nil {
		return fail(op, err, syscall.ESRCH)
	}
	return s.control(op, func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		s.c.unpin()
		m.SetHeld(false)
		m.SetOwner(p)
		if !m.HasLog {
			m.SetHandedOver()
		}
		return nil
	})
}
