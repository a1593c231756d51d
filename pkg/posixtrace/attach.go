package posixtrace

import (
	"errors"
	"runtime"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

var errDead = errors.New("the stream was shut down")

// Attach connects to an active stream of the same user by its name or, if the argument contains a
// slash, by the path of its file (StreamInfo.Path). A stream that an ended process has left behind
// (StreamInfo.Stale) counts only if no other has that name. The caller does not become the owner.
// Attach is safe for concurrent use. Errors: ENOENT no such stream; EEXIST several streams with
// that name; EACCES another user's stream; EINVAL not a stream; EIO the stream's file was
// truncated. Extension.
func Attach(nameOrPath string) (*Stream, error) {
	const op = "Attach"
	if strings.Contains(nameOrPath, "/") {
		c, err := conn.OpenPath(nameOrPath)
		if err != nil {
			return nil, fail(op, err, syscall.EINVAL)
		}
		if c.Dead() {
			cut := c.Cut()
			c.Release()
			if cut {
				return nil, fail(op, conn.ErrCut, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		if c.Orphaned() {
			err := completeOrphan(c, false)
			c.Release()
			if err != nil {
				return nil, fail(op, err, syscall.EIO)
			}
			return nil, &Error{Op: op, Err: syscall.ENOENT, Cause: errDead}
		}
		return newStream(c), nil
	}
	var living, stale []*conn.Conn
	var other error // of a stream of another version
	err := eachStream(func(c *conn.Conn) error {
		switch {
		case c.Mem.Name != nameOrPath:
			c.Release()
		case c.Stale():
			stale = append(stale, c)
		default:
			living = append(living, c)
		}
		return nil
	}, func(s StreamInfo) {
		if s.Name == nameOrPath {
			other = s.Err
		}
	})
	found := living
	if len(found) == 0 {
		found = stale
	}
	switch {
	case err != nil:
	case len(found) == 0 && other != nil:
		return nil, other
	case len(found) == 0:
		err = syscall.ENOENT
	case len(found) > 1:
		err = syscall.EEXIST
	}
	for _, c := range append(living, stale...) {
		if err != nil || c != found[0] {
			c.Release()
		}
	}
	if err != nil {
		return nil, fail(op, err, syscall.EIO)
	}
	return newStream(found[0]), nil
}

// Adopt makes pid, a child started since CreateForChild, the process that the stream traces.
// Errors: ESRCH no such process; EPERM no permission to trace it; EINVAL the stream traces a
// process already, or is closed; EAGAIN too many streams trace the process. Extension.
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
	m := s.c.Mem
	if m.Target().PID != 0 {
		return einval(op, "the stream traces process %d already", m.Target().PID)
	}
	unlock, err := s.c.Dir.Lock()
	if err != nil {
		return fail(op, err, syscall.EINVAL)
	}
	defer unlock()
	m.SetTarget(p)
	flags := registry.Self
	if m.Inherit {
		flags |= registry.Inherit
	}
	// Make the child's page before the removal of the entry that the child may inherit.
	page, err := s.c.Dir.Page(p, true)
	if err == nil {
		// A child that another process started inherits no entry of a stream without inheritance,
		// and would register its names in a family of its own. A child that has registered names
		// keeps its family.
		page.SetFamily(m.Family())
		err = page.Attach(s.c.ID, flags)
		page.Close()
	}
	if own, e := s.c.Dir.Page(sys.SelfProc(), false); e == nil {
		own.Detach(s.c.ID)
		own.Close()
	}
	return fail(op, err, syscall.EAGAIN)
}

// Handover makes pid the owner of the stream: the death of pid, not of the caller, shuts down a
// stream with log. A stream without log stays after the death of pid, to be read, until a Shutdown
// or until another stream needs its room (Stream.MadeRoom). Errors: ESRCH no such process; EPERM no
// permission to trace it; EINVAL the stream is closed. Extension.
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
		s.c.Unpin()
		m.SetHeld(false)
		m.SetOwner(p)
		if !m.HasLog {
			m.SetHandedOver()
		}
		return nil
	})
}
