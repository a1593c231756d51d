package tracee

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A traced process may fail to connect to its streams: it has no free descriptor, no memory or no
// /proc, or the stream has no free slot. The process reports that to the stream once and retries
// later. Its trace points check the clock until then: a timer would keep the runtime from detecting
// a deadlock.

// retryMin is the pause before the first retry. Each pause is twice as long as the one before, up
// to retryMax.
var retryMin, retryMax = time.Second, time.Minute

// misses is the state of a process's failed connections.
type misses struct {
	pause    time.Duration
	byName   bool                     // InheritByName is to be retried
	foreign  bool                     // a stream has another version, and counts this process only once
	why      map[uint64]syscall.Errno // by stream: errors not yet reported
	reported map[uint64]bool
}

// next returns the time of the next retry.
func (m *misses) next() int64 {
	m.pause = max(retryMin, min(2*m.pause, retryMax))
	return int64(sys.Monotonic()) + int64(m.pause)
}

// countable reports whether the stream should know of an error: unless it was removed, or the process
// must not write to it.
func countable(err error) bool { return transient(err) || errors.Is(err, stream.ErrForeign) }

// transient reports whether an error may go away. A stream that was removed, or that a program of
// another kind has made, stays out of reach.
func transient(err error) bool {
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, stream.ErrFormat) &&
		!errors.Is(err, stream.ErrForeign) && !errors.Is(err, stream.ErrElsewhere)
}

// note reports to a stream that this process could not connect to it. report returns whether it
// succeeded; otherwise a later note retries.
func (m *misses) note(id uint64, err error, report func(no syscall.Errno) bool) {
	if m.reported[id] {
		return
	}
	no := syscall.ENOMEM
	if n, ok := m.why[id]; ok {
		no = n // the first cause counts
	} else if errors.Is(err, stream.ErrForeign) {
		no, m.foreign = syscall.EPROTONOSUPPORT, true
	} else {
		errors.As(err, &no)
	}
	if m.why == nil {
		m.why, m.reported = map[uint64]syscall.Errno{}, map[uint64]bool{}
	}
	if m.why[id] = no; report(no) {
		delete(m.why, id)
		m.reported[id] = true
	}
}

// connected forgets the failures of a stream that the process has connected to. It first reports a
// pending one.
func (m *misses) connected(c *conn.Conn) {
	if no, ok := m.why[c.ID]; ok {
		c.Mem.AddMissed(uint32(no))
	}
	delete(m.why, c.ID)
	delete(m.reported, c.ID)
}

// reportMiss counts a miss in a stream that is not mapped or cannot be mapped whole. open opens its file.
func reportMiss(id uint64, no syscall.Errno, open func() (*os.File, error)) bool {
	f, err := open()
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := sys.Fstat(f)
	if err != nil || st.Size < stream.StartSize {
		return false
	}
	mem, err := sys.Map(f, stream.StartSize, true)
	if err != nil {
		return false
	}
	defer sys.Unmap(mem)
	return stream.CountMissed(mem, id, uint32(no))
}

// noted has the streams that NoteMissed has reported to: each counts this process once, even if it
// fails to connect on behalf of several processes, as ptrace-event does.
var noted sync.Map

// NoteMissed reports a failed connection to a stream, if the stream can be reached.
func NoteMissed(d *registry.Dir, id uint64, err error) {
	if _, ok := noted.Load(id); ok || !countable(err) {
		return
	}
	var m misses
	m.note(id, err, func(no syscall.Errno) bool {
		ok := reportMiss(id, no, func() (*os.File, error) { return d.OpenStreamFile(id) })
		if ok {
			noted.Store(id, true)
		}
		return ok
	})
}

// addMissed returns the report function of note for a stream that is connected.
func addMissed(c *conn.Conn) func(no syscall.Errno) bool {
	return func(no syscall.Errno) bool {
		c.Mem.AddMissed(uint32(no))
		return true
	}
}

// NoteRefused reports to a stream that is connected that this process cannot become a writer of it.
func NoteRefused(c *conn.Conn, err error) {
	var m misses
	m.note(c.ID, err, addMissed(c))
}

// noteByName reports a failure to the stream that $PTRACE_STREAM names.
func (m *misses) noteByName(err error) {
	path := os.Getenv("PTRACE_STREAM")
	id, ok := registry.StreamIDOfPath(path)
	if !ok || sys.Secure() {
		return
	}
	m.note(id, err, func(no syscall.Errno) bool {
		return reportMiss(id, no, func() (*os.File, error) { return registry.OpenStreamFrom(path) })
	})
}
