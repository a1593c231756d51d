package posixtrace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A traced process may be unable to connect to its streams for a while: it has no
// descriptor left, no memory, no /proc, or the stream no room for another writer. It
// tells the stream so, once, and tries again. Its trace points look at the clock
// meanwhile; there is no timer, which would keep the runtime from noticing that a program
// is deadlocked.

// retryMin is the pause before the second attempt. Each pause is twice as long as the
// one before, up to retryMax.
var retryMin, retryMax = time.Second, time.Minute

// misses is what a process knows of its vain attempts.
type misses struct {
	pause    time.Duration
	byName   bool                     // $PTRACE_STREAM has yet to be followed
	why      map[uint64]syscall.Errno // by stream: what the stream does not know yet
	reported map[uint64]bool
}

// next returns when to try again.
func (m *misses) next() int64 {
	m.pause = max(retryMin, min(2*m.pause, retryMax))
	return int64(sys.Monotonic()) + int64(m.pause)
}

// passing reports whether an error may go away. A stream that is no more, or that
// a program of another kind has made, will not be there later either.
func transient(err error) bool {
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, stream.ErrFormat) &&
		!errors.Is(err, stream.ErrForeign) && !errors.Is(err, stream.ErrElsewhere)
}

// note tells a stream that this process could not connect to it, by tell, which
// reports whether that was possible; else that comes later.
func (m *misses) note(id uint64, err error, tell func(no syscall.Errno) bool) {
	if m.reported[id] {
		return
	}
	no := syscall.ENOMEM
	if n, ok := m.why[id]; ok {
		no = n // the first cause counts
	} else {
		errors.As(err, &no)
	}
	if m.why == nil {
		m.why, m.reported = map[uint64]syscall.Errno{}, map[uint64]bool{}
	}
	if m.why[id] = no; tell(no) {
		delete(m.why, id)
		m.reported[id] = true
	}
}

// over ends the matter for a stream that the process is connected to now.
func (m *misses) connected(c *conn) {
	if no, ok := m.why[c.id]; ok {
		c.mem.AddMissed(uint32(no))
	}
	delete(m.why, c.id)
	delete(m.reported, c.id)
}

// tellStream counts a miss in a stream that is not mapped, or cannot be. open opens its file.
func reportMiss(id uint64, no syscall.Errno, open func() (*os.File, error)) bool {
	f, err := open()
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := sys.Fstat(f)
	if err != nil || st.Size < int64(stream.HeaderSize) {
		return false
	}
	mem, err := sys.Map(f, stream.HeaderSize, true)
	if err != nil {
		return false
	}
	defer sys.Unmap(mem)
	return stream.CountMissed(mem, id, uint32(no))
}

// missed tells a stream that cannot be connected to, if it can be reached.
func noteMissed(d *registry.Dir, id uint64, err error) {
	if !transient(err) {
		return
	}
	var m misses
	m.note(id, err, func(no syscall.Errno) bool {
		return reportMiss(id, no, func() (*os.File, error) { return d.OpenStreamFile(id) })
	})
}

// missed counts a miss in the stream of a connection.
func (c *conn) addMissed(no syscall.Errno) bool {
	c.mem.AddMissed(uint32(no))
	return true
}

// noteByName tells the stream that $PTRACE_STREAM names.
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
