package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// openDir returns the trace directory of this process: that of its first use. A later change of $PTRACE_DIR
// has no effect, as trace points are where they are. openDir opens a directory again after a failure, and
// after the directory was removed.
func openDir() (*registry.Dir, error) {
	dirs.mu.Lock()
	defer dirs.mu.Unlock()
	if dirs.dir == nil || dirs.dir.Gone() {
		d, err := registry.Open()
		if err != nil {
			return nil, ofDir(err)
		}
		d.FamilyOf = func(id uint64) (uint64, error) {
			c, err := openStream(d, id)
			if err != nil {
				return 0, err
			}
			defer c.release()
			return c.mem.Family(), nil
		}
		dirs.dir = d
	}
	return dirs.dir, nil
}

// forgetDir is tool.ForgetDirectory.
func forgetDir() {
	dirs.mu.Lock()
	defer dirs.mu.Unlock()
	dirs.dir = nil
}

var dirs struct {
	mu  sync.Mutex
	dir *registry.Dir
}

// conn is a connection: a mapped stream file. The mapping lives as long as any reference to the
// conn, so a trace point in another goroutine never accesses an unmapped stream.
type conn struct {
	dir  *registry.Dir
	f    *os.File
	mem  *stream.Mem
	id   uint64
	path string

	mu    sync.Mutex      // see lock
	guard *sys.Guard      // of the mapping
	last  runtime.Cleanup // the unmapping
	swept bool            // counted in swept; protected by swept.mu
	holds sync.Mutex      // see takeSlot
	lent  bool            // the application has had a Stream of it, and may keep references
}

var errDead = errors.New("the stream was shut down")

// connect maps the stream in f. It closes f if it fails.
func connect(d *registry.Dir, f *os.File, path string) (*conn, error) {
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if st.Size() < 4096 || int64(int(st.Size())) != st.Size() {
		f.Close()
		return nil, fmt.Errorf("%s: file of %d bytes: %w: %w", path, st.Size(), stream.ErrShort, syscall.EINVAL)
	}
	b, err := sys.Map(f, int(st.Size()), true)
	if err != nil {
		f.Close()
		return nil, err
	}
	m, err := stream.Attach(b, false)
	if err == nil {
		if id, ok := registry.StreamIDOfPath(path); !ok || id != m.ID {
			err = fmt.Errorf("is stream %016x: %w", m.ID, stream.ErrFormat)
		} else if m.PIDNS != sys.PIDNamespace() && !sys.NamespaceGone(m.PIDNS) {
			// In this PID namespace the pids of the stream denote other processes, or none.
			err = stream.ErrElsewhere
		}
	}
	if err != nil {
		sys.Unmap(b)
		f.Close()
		return nil, fmt.Errorf("%s: %w: %w", path, err, syscall.EINVAL)
	}
	return newConn(d, f, m, path), nil
}

// newConn returns a connection of m, which is mapped from f.
func newConn(d *registry.Dir, f *os.File, m *stream.Mem, path string) *conn {
	c := &conn{dir: d, f: f, mem: m, id: m.ID, path: path, guard: sys.GuardOf(m.Bytes())}
	m.DieWhenCut(c.guard)
	if mapped.Add(1) >= collectAt.Load() && collecting.CompareAndSwap(false, true) {
		go collect()
	}
	c.last = runtime.AddCleanup(c, unmap, m.Bytes())
	return c
}

func unmap(b []byte) {
	sys.Unmap(b)
	most := mapped.Add(-1) + collectEvery
	for at := collectAt.Load(); at > most && !collectAt.CompareAndSwap(at, most); at = collectAt.Load() {
	}
}

// mapped counts the streams that this process has mapped.
var mapped atomic.Int64

// A closed stream stays mapped until a garbage collection finds that no goroutine uses it. An
// application with a large heap, or with GOGC=off, may reach the kernel's limit of mappings
// (65,530) before the next collection: so many new mappings start one.
const collectEvery = 1024

var (
	// The number of mapped streams that starts a collection. It goes down with them: the finalizers of
	// a collection may run long after it.
	collectAt  atomic.Int64
	collecting atomic.Bool // a collection is under way
)

func init() { collectAt.Store(collectEvery) }

func collect() {
	for range 3 { // finalizers, and then the memory that they referred to
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	collectAt.Store(mapped.Load() + collectEvery)
	collecting.Store(false)
}

// release ends a connection that no other goroutine uses, and unmaps the stream: a list of a
// thousand streams does not wait for the garbage collector.
func (c *conn) release() {
	if !c.lent {
		c.last.Stop()
		unmap(c.mem.Bytes())
	}
	c.f.Close()
}

// openStream connects to the stream with that id in d.
func openStream(d *registry.Dir, id uint64) (*conn, error) {
	f, err := d.OpenStreamFile(id)
	if err != nil {
		return nil, err
	}
	return connect(d, f, d.StreamPath(id))
}

// openPath connects to the stream in a file, which may be in any directory of the user.
func openPath(path string) (*conn, error) {
	own, err := openDir()
	if err != nil {
		return nil, err
	}
	f, d, err := registry.OpenStreamPath(own, path)
	if err != nil {
		return nil, err
	}
	return connect(d, f, path)
}

// lock takes the stream's lock, which the kernel drops when the holder dies. To the kernel all
// goroutines that use this connection are one holder: the mutex excludes them from each other.
func (c *conn) lock() (unlock func(), err error) {
	c.mu.Lock()
	if err := sys.Flock(c.f, true, true); err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("lock %s: %w", c.path, err)
	}
	return c.unlock, nil
}

// tryLock is lock without the wait: it fails with EAGAIN.
func (c *conn) tryLock() (unlock func(), err error) {
	if !c.mu.TryLock() {
		return nil, syscall.EAGAIN
	}
	if err := sys.Flock(c.f, true, false); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	return c.unlock, nil
}

// lockWithin is lock with a bounded wait for other processes: it fails with EAGAIN.
func (c *conn) lockWithin(wait time.Duration) (unlock func(), err error) {
	c.mu.Lock()
	if err := sys.FlockWithin(c.f, wait); err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("lock %s: %w", c.path, err)
	}
	return c.unlock, nil
}

func (c *conn) unlock() {
	sys.Funlock(c.f)
	c.mu.Unlock()
}

// gone reports whether a process has ended.
func gone(p sys.Proc) bool { return !p.Alive() }

// orphaned reports whether the owner is dead or has executed another program, so that the next
// process that finds the stream has to shut it down. It is not meant for the owner's own
// connection.
func (c *conn) orphaned() bool {
	return !c.mem.HandedOver() && (!c.mem.Owner().Alive() || c.mem.Held() && !sys.Held(c.f))
}

// pin ties the stream's life to this program. The connection stays until unpin, even if the
// application drops its last reference.
func (c *conn) pin() {
	// Drop streams that other processes have shut down meanwhile.
	pinned.Range(func(id, k any) bool {
		if k.(*conn).dead() {
			pinned.Delete(id)
		}
		return true
	})
	if sys.Hold(c.f) == nil {
		c.mem.SetHeld(true)
		pinned.Store(c.id, c)
	}
}

// unpin undoes pin: from now on the owner's death alone shuts the stream down.
func (c *conn) unpin() {
	if k, ok := pinned.Load(c.id); ok && k == c {
		c.mem.SetHeld(false)
		pinned.Delete(c.id)
	}
}

var pinned sync.Map // of *conn, by stream

// stale reports whether the stream was handed over to a process that has ended since.
func (c *conn) stale() bool {
	return c.mem.HandedOver() && !c.mem.Owner().Alive()
}

// cut reports whether the stream is lost because another process truncated its file. To a process
// that has noticed, the stream is dead and empty.
func (c *conn) cut() bool { return c.guard.Cut() }

// dead reports whether the stream is over. The order of the two tests matters: a process that
// touches a truncated file reads zeros a moment before the guard marks the mapping, and may be
// interrupted in between.
func (c *conn) dead() bool { return c.mem.State()&stream.Dead != 0 || c.cut() }

// checkCut touches the last word of the mapping: the guard then notices that the file was
// truncated, even if this process accesses nothing else beyond the new end.
func (c *conn) checkCut() {
	b := c.mem.Bytes()
	(*atomic.Uint32)(unsafe.Pointer(&b[(len(b)-1)&^3])).Load()
}

// info describes the stream as List does.
func (c *conn) info() StreamInfo {
	m := c.mem
	st := m.Status(false)
	i := StreamInfo{
		Name: m.Name, Path: c.path, PID: int(m.Target().PID), Owner: int(m.Owner().PID),
		LogPath: m.LogPath, CreateTime: m.Created(), Stale: c.stale(),
	}
	i.Status, i.Full = runStatus(st.Running), fullStatus(st.Full)
	return i
}
