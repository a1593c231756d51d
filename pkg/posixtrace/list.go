package posixtrace

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

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
	d, err := conn.OpenDir()
	if err != nil {
		return err
	}
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := conn.Open(d, id)
		if errors.Is(err, stream.ErrFormat) {
			discard(d, id)
		}
		if errors.Is(err, stream.ErrForeign) {
			if s, ok := foreignStream(d, id); ok {
				foreign(s)
			}
		}
		if err != nil {
			continue // removed meanwhile, or not a stream
		}
		if c.Dead() || c.Orphaned() {
			// If the log cannot be completed now, for example on a full disk, a later call retries.
			completeOrphanSoon(c)
			c.Release()
			continue
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
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
		s.Name, s.CreateTime = p.Name, time.Unix(0, p.CreatedAt)
	}
	s.PID = d.Traced(id)
	if sys.Held(f) {
		s.LogPath = p.LogPath
	} else {
		s.Stale = s.PID == 0 // no process can record to it, nor complete its log
	}
	return s, true
}

// discard removes the rest of a stream whose file was truncated or overwritten, which no process can
// attach to.
func discard(d *registry.Dir, id uint64) {
	unlock, err := d.Lock()
	if err != nil {
		return
	}
	defer unlock()
	d.DetachAll(id)
	d.RemoveStream(id)
}
