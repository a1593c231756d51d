package posixtrace

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

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
	if m.Inheritance {
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

// StreamInfo describes an active stream in a list. Extension.
type StreamInfo struct {
	Name       string
	Path       string // of the stream's file
	PID        int    // the traced process; 0 if there is none yet
	Owner      int    // the process whose death shuts the stream down
	LogPath    string // "" without log
	Status     RunStatus
	Full       FullStatus
	CreateTime time.Time
	Stale      bool // handed over without log, and the new owner has ended: see Stream.Handover

	// Err is the error of Attach if the stream is one of another version of posixtrace, else nil. Name,
	// LogPath, CreateTime and PID of such a stream are zero if they are not known, the members that follow
	// always; Stale reports that neither an owner nor a traced process is left.
	Err error
}

// List returns the active streams of the user, oldest first, those of other versions included. Of this
// version, it shuts down streams of dead owners and completes their logs. List is safe for concurrent use.
// Errors: those of the trace directory (ErrDirectory). Extension.
func List() ([]StreamInfo, error) {
	var list []StreamInfo
	err := eachStream(func(c *conn.Conn) error {
		list = append(list, infoOf(c))
		c.Release()
		return nil
	}, func(s StreamInfo) { list = append(list, s) })
	slices.SortFunc(list, func(a, b StreamInfo) int {
		if n := a.CreateTime.Compare(b.CreateTime); n != 0 {
			return n
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list, fail("List", err, syscall.EIO)
}

// infoOf describes a stream.
func infoOf(c *conn.Conn) StreamInfo {
	m := c.Mem
	st := m.Status(false)
	i := StreamInfo{
		Name: m.Name, Path: c.Path, PID: int(m.Target().PID), Owner: int(m.Owner().PID),
		LogPath: m.LogPath, CreateTime: m.Created(), Stale: c.Stale(),
	}
	i.Status, i.Full = runStatus(st.Running), fullStatus(st.Full)
	return i
}

// eachStream calls f for every active stream of the user, and shuts down streams of dead owners. f
// releases the connection or keeps it. For streams of other versions, eachStream calls foreign.
func eachStream(f func(c *conn.Conn) error, foreign func(StreamInfo)) error {
	// If the log of an orphan cannot be completed now, for example on a full disk, a later call retries.
	return conn.Each(f, func(c *conn.Conn) { completeOrphanSoon(c) }, func(d *registry.Dir, id uint64) {
		if s, ok := foreignStream(d, id); ok {
			foreign(s)
		}
	})
}

// foreignStream returns what is known of a stream of another version, false if it is of another pid
// namespace.
func foreignStream(d *registry.Dir, id uint64) (s StreamInfo, ok bool) {
	f, err := d.OpenStreamFile(id)
	if err != nil {
		return s, false
	}
	defer f.Close()
	b := make([]byte, stream.PeekSize)
	n, _ := f.ReadAt(b, 0)
	p, ok := stream.Peek(b[:n])
	if !ok || p.Known && p.ID != id {
		return s, false
	}
	s.Path, s.Err = d.StreamPath(id), einval("Attach", "%w", p.Err)
	if p.Known {
		if p.PIDNS != sys.PIDNamespace() && !sys.NamespaceGone(p.PIDNS) {
			return s, false
		}
		s.Name, s.CreateTime = p.Name, p.CreateTime.Time()
	}
	s.PID = d.Traced(id)
	if sys.Held(f) {
		s.LogPath = p.LogPath
	} else {
		s.Stale = s.PID == 0 // no process can record to it, nor complete its log
	}
	return s, true
}
