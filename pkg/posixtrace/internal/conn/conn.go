package conn

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Conn is a connection: a mapped stream file. The mapping lives as long as any reference to the
// Conn, so a trace point in another goroutine never accesses an unmapped stream.
type Conn struct {
	Dir  *registry.Dir
	File *os.File
	Mem  *stream.Mem
	ID   uint64
	Path string

	Guard *sys.Guard // of the mapping
	Lent  bool       // the application has had a Stream of it, and may keep references

	mu    sync.Mutex      // see Lock
	last  runtime.Cleanup // the unmapping
	swept bool            // counted in swept; protected by swept.mu
	holds sync.Mutex      // see TakeSlot
}

// connect maps the stream in f. It closes f if it fails.
func connect(d *registry.Dir, f *os.File, path string) (*Conn, error) {
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
	return New(d, f, m, path), nil
}

// New returns a connection of m, which is mapped from f.
func New(d *registry.Dir, f *os.File, m *stream.Mem, path string) *Conn {
	c := &Conn{Dir: d, File: f, Mem: m, ID: m.ID, Path: path, Guard: sys.GuardOf(m.Bytes())}
	m.DieWhenCut(c.Guard)
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

// Mapped reports whether this process has mapped a stream, perhaps one that it has shut down.
func Mapped() bool { return mapped.Load() > 0 }

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

// Release ends a connection that no other goroutine uses, and unmaps the stream: a list of a
// thousand streams does not wait for the garbage collector.
func (c *Conn) Release() {
	if !c.Lent {
		c.last.Stop()
		unmap(c.Mem.Bytes())
	}
	c.File.Close()
}

// Open connects to the stream with that id in d.
func Open(d *registry.Dir, id uint64) (*Conn, error) {
	f, err := d.OpenStreamFile(id)
	if err != nil {
		return nil, err
	}
	return connect(d, f, d.StreamPath(id))
}

// OpenPath connects to the stream in a file, which may be in any directory of the user.
func OpenPath(path string) (*Conn, error) {
	own, err := OpenDir()
	if err != nil {
		return nil, err
	}
	f, d, err := registry.OpenStreamPath(own, path)
	if err != nil {
		return nil, err
	}
	return connect(d, f, path)
}

// Lock takes the stream's lock, which the kernel drops when the holder dies. To the kernel all
// goroutines that use this connection are one holder: the mutex excludes them from each other.
func (c *Conn) Lock() (unlock func(), err error) {
	c.mu.Lock()
	if err := sys.Flock(c.File, true, true); err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("lock %s: %w", c.Path, err)
	}
	return c.unlock, nil
}

// TryLock locks the stream, or fails with EAGAIN at once.
func (c *Conn) TryLock() (unlock func(), err error) {
	if !c.mu.TryLock() {
		return nil, syscall.EAGAIN
	}
	if err := sys.Flock(c.File, true, false); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	return c.unlock, nil
}

// LockWithin locks the stream. It waits for other processes for a bounded time, and fails with EAGAIN then.
func (c *Conn) LockWithin(wait time.Duration) (unlock func(), err error) {
	c.mu.Lock()
	if err := sys.FlockWithin(c.File, wait); err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("lock %s: %w", c.Path, err)
	}
	return c.unlock, nil
}

func (c *Conn) unlock() {
	sys.Funlock(c.File)
	c.mu.Unlock()
}

// Orphaned reports whether the owner is dead or has executed another program, so that the next
// process that finds the stream has to shut it down. It is not meant for the owner's own
// connection. Without the stream's lock the answer may be old: the stream may have a new owner.
func (c *Conn) Orphaned() bool {
	for {
		p, held := c.Mem.Owner(), c.Mem.Held()
		if c.Mem.HandedOver() || p.Alive() && !(held && !sys.Held(c.File)) {
			return false
		}
		// An owner that hands its stream over and ends is dead, too.
		if !c.Mem.HandedOver() && c.Mem.Owner() == p && c.Mem.Held() == held {
			return true
		}
	}
}

// Pin ties the stream's life to this program. The connection stays until Unpin, even if the
// application drops its last reference.
func (c *Conn) Pin() {
	// Drop streams that other processes have shut down meanwhile.
	pinned.Range(func(id, k any) bool {
		if k.(*Conn).Dead() {
			pinned.Delete(id)
		}
		return true
	})
	if sys.Hold(c.File) == nil {
		c.Mem.SetHeld(true)
		pinned.Store(c.ID, c)
	}
}

// Unpin undoes Pin: from now on the owner's death alone shuts the stream down.
func (c *Conn) Unpin() {
	if k, ok := pinned.Load(c.ID); ok && k == c {
		c.Mem.SetHeld(false)
		pinned.Delete(c.ID)
	}
}

var pinned sync.Map // of *Conn, by stream

// Owned reports whether this process holds the stream as its owner or for it.
func (c *Conn) Owned() bool {
	k, ok := pinned.Load(c.ID)
	return ok && k == c || c.Mem.Owner() == sys.SelfProc()
}

// Stale reports whether the stream was handed over to a process that has ended since.
func (c *Conn) Stale() bool {
	for c.Mem.HandedOver() {
		p := c.Mem.Owner()
		if p.Alive() {
			return false
		}
		if c.Mem.Owner() == p {
			return true
		}
	}
	return false
}

// ErrCut is the error of a stream whose file was truncated. It is EIO, which its text does not say: users
// would take it for a fault of a device.
var ErrCut error = cutError{}

type cutError struct{}

func (cutError) Error() string { return "the stream's file was cut short" }
func (cutError) Unwrap() error { return syscall.EIO }

// Cut reports whether the stream is lost because another process truncated its file. To a process
// that has noticed, the stream is dead and empty.
func (c *Conn) Cut() bool { return c.Guard.Cut() }

// Dead reports whether the stream is over. The order of the two tests matters: a process that
// touches a truncated file reads zeros a moment before the guard marks the mapping, and may be
// interrupted in between.
func (c *Conn) Dead() bool { return c.Mem.State()&stream.Dead != 0 || c.Cut() }

// CheckCut touches the last word of the mapping: the guard then notices that the file was
// truncated, even if this process accesses nothing else beyond the new end.
func (c *Conn) CheckCut() {
	b := c.Mem.Bytes()
	(*atomic.Uint32)(unsafe.Pointer(&b[(len(b)-1)&^3])).Load()
}

// Command returns the command line of the creator.
func (c *Conn) Command() []string {
	if c.Mem.Command == "" {
		return nil
	}
	return strings.Split(c.Mem.Command, "\x00")
}
