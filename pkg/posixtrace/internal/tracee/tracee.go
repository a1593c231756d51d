package tracee

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Self is the role of this process as a traced process.
var Self Process

// Process is a process that streams may trace. Open, OpenWithin, Sync and Knows lock it: a trace point calls
// Sync when its table is not the current one, and Knows for an id that this process has not opened.
type Process struct {
	// Package posixtrace sets these when it is initialized. Outline returns where the body of a trace point
	// returns to in a call of Event that was not inlined, 0 if that is not known yet, and whether sys.Outer
	// finds the caller of that call. OwnMaps returns what this process has mapped.
	Outline func() (pc uint64, outer bool)
	OwnMaps func() *stream.Maps

	Table atomic.Pointer[Table] // nil before the first trace point
	// Known is the number of user ids known to be registered, the unnamed one included. The
	// registry assigns ids in order.
	Known atomic.Uint32

	mu      sync.Mutex
	proc    *Proc
	reaping bool // a reaper exists
	missed  misses
	// The number of lookups of unregistered ids, and the time of the last one.
	unknown   atomic.Uint32
	unknownAt atomic.Int64
}

// Unregistered ids are looked up at once unknownAtOnce times, then once per unknownPause: a lookup
// costs a lock and a system call.
const (
	unknownAtOnce = 64
	unknownPause  = time.Millisecond
)

// Learn marks id as registered.
func (t *Process) Learn(id event.ID) {
	if !id.User() {
		return
	}
	for {
		k, n := t.Known.Load(), uint32(id)-uint32(event.Unnamed)+1
		if n <= k || t.Known.CompareAndSwap(k, n) {
			return
		}
	}
}

// Knows reports whether a user id is registered. The process has not opened the id by its name.
func (t *Process) Knows(id event.ID) bool {
	if t.unknown.Load() >= unknownAtOnce && int64(sys.Monotonic())-t.unknownAt.Load() < int64(unknownPause) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.proc == nil {
		return false
	}
	if _, ok := t.proc.Names.Lookup(id); !ok {
		if t.unknown.Load() < unknownAtOnce {
			t.unknown.Add(1)
		}
		t.unknownAt.Store(int64(sys.Monotonic()))
		return false
	}
	t.unknown.Store(0)
	t.Learn(id)
	return true
}

// word points to the word of the process page, which is 0 while no stream traces this process.
// Until the first trace point it points to a 1 of our own, which leads to the lookup of the page.
var (
	word           = &unasked
	unasked uint32 = 1
)

// LoadWord returns the pointer to the word of the process page.
func LoadWord() *uint32 {
	return (*uint32)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&word))))
}

func storeWord(w *uint32) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&word)), unsafe.Pointer(w))
}

// Open returns the process's page and names, and makes the page if there is none.
func (t *Process) Open() (*Proc, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.openLocked()
	if err != nil && !errors.Is(err, syscall.EAGAIN) { // the caller retries, or a trace point does
		t.missed.noteByName(err)
	}
	return p, err
}

// OpenWithin opens, and retries for a while when another process has a lock: a trace point of another
// goroutine does not wait for it meanwhile.
func (t *Process) OpenWithin(wait time.Duration) (*Proc, error) {
	p, err := t.Open()
	for end := time.Now().Add(wait); errors.Is(err, syscall.EAGAIN) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
		p, err = t.Open()
	}
	return p, err
}

func (t *Process) openLocked() (*Proc, error) {
	if t.proc != nil {
		if t.proc.Page.Moved() {
			t.move()
		}
		return t.proc, nil
	}
	d, err := conn.OpenDir()
	if err != nil {
		return nil, err
	}
	p, err := OpenProc(d, sys.SelfProc())
	if err != nil {
		return nil, err
	}
	// The names of the program before exec do not count (INH-08). Names that a controller has added
	// for this program do (MAP-09).
	p.Page.Opened()
	if !sys.Secure() {
		t.inherit(p)
	} else if os.Geteuid() != 0 && !p.release() {
		// The page still says that the process is traced: use a word of our own.
		t.proc = p
		storeWord(new(uint32))
		return p, nil
	}
	t.proc = p
	storeWord(p.Page.Word())
	return p, nil
}

// move continues with a new page, which a controller has made after the trace directory or its
// files were removed. The old page stays mapped: trace points of other goroutines read it. If move
// fails, the old page is still the process's, and says so (Moved).
func (t *Process) move() {
	d, err := conn.OpenDir()
	if err != nil {
		return
	}
	page, err := d.Page(sys.SelfProc(), true)
	if err != nil {
		return
	}
	if err := t.proc.Names.Move(d); err != nil {
		page.Close()
		return
	}
	t.proc.Page.Forget()
	// Other goroutines may use the old value: leave it unchanged.
	t.proc = &Proc{Dir: d, Page: page, Names: t.proc.Names}
	storeWord(page.Word())
}

// inherit inherits by name, and retries later if that fails.
func (t *Process) inherit(p *Proc) {
	err := InheritByName(p)
	if t.missed.byName = err != nil && transient(err); t.missed.byName {
		t.missed.noteByName(err)
	}
}

// Sync returns a table that agrees with the process page, nil if there is no page.
func (t *Process) Sync() *Table {
	n := t.Table.Load()
	if !n.pending() {
		n = t.renew()
	}
	if n.none {
		return nil
	}
	return n
}

// renew makes a new table if the old one disagrees with the page, or if a retry is due.
func (t *Process) renew() *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.Table.Load()
	if old.pending() { // another goroutine was faster
		return old
	}
	p, err := t.openLocked()
	if err != nil {
		t.missed.noteByName(err)
		n := &Table{seen: atomic.LoadUint32(LoadWord()), again: t.missed.next(), none: true}
		t.Table.Store(n)
		return n
	}
	if t.missed.byName {
		t.inherit(p)
	}
	failed := t.missed.byName || p.Page.Moved()
	now := atomic.LoadUint32(p.Page.Word())
	if old != nil && old.again == 0 && old.Word == now {
		return old
	}
	n := &Table{Word: now, seen: now, Fast: sys.FastSelf()}
	n.Outline, n.Outer = t.Outline()
	for _, e := range p.Page.Entries() {
		if e.Flags&registry.Self == 0 {
			continue
		}
		if a := old.find(e.Stream); a != nil {
			n.Streams = append(n.Streams, a)
			continue
		}
		a, err := t.connect(p.Dir, e.Stream)
		if err != nil {
			failed = failed || transient(err)
			continue
		}
		runtime.SetFinalizer(a, (*conn.Attachment).Close)
		n.Streams = append(n.Streams, a)
	}
	n.count()
	if failed {
		n.Word, n.again = 0, t.missed.next()
	} else if !t.missed.foreign {
		t.missed = misses{}
	}
	t.Table.Store(n)
	if len(n.Streams) > 0 && !t.reaping {
		t.reaping = true
		runtime.SetFinalizer(&reaper{t}, (*reaper).reap)
	}
	return n
}

// connect makes this process a writer of a stream, or reports to the stream why it cannot.
func (t *Process) connect(d *registry.Dir, id uint64) (*conn.Attachment, error) {
	c, err := conn.Open(d, id)
	if err != nil {
		if countable(err) {
			t.missed.note(id, err, func(no syscall.Errno) bool {
				return reportMiss(id, no, func() (*os.File, error) { return d.OpenStreamFile(id) })
			})
		}
		return nil, err
	}
	a, err := conn.Attach(c, sys.SelfProc(), max(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	if err != nil {
		t.missed.note(id, err, addMissed(c))
		c.Release() // do not keep the mapping until the next garbage collection
		return nil, err
	}
	a.Writer.NoteMaps(t.OwnMaps())
	t.missed.connected(c)
	// Only the lock needs the descriptor.
	c.File.Close()
	return a, nil
}

// Renewed returns the table that a trace point for an event of type id uses, nil if it records
// nothing.
//
//go:noinline
func (t *Process) Renewed(id event.ID) *Table {
	if atomic.LoadUint32(LoadWord()) == 0 || !id.User() || t.Sync() == nil || !t.Knows(id) {
		return nil
	}
	return t.Sync()
}

// Wanting returns the table of the streams if a trace point for an event of type id may record one now,
// or nil.
func (t *Process) Wanting(id event.ID) *Table {
	if atomic.LoadUint32(LoadWord()) == 0 {
		return nil
	}
	table := t.Table.Load()
	if table.Stale(id) {
		return t.Renewed(id)
	}
	return table
}

// ConnectNow connects a traced process to its streams, so that its first event needs no further
// system call.
func (t *Process) ConnectNow() {
	if atomic.LoadUint32(LoadWord()) != 0 {
		t.Sync()
	}
}

// reaper drops attachments of streams that have been shut down, and so frees their memory. Trace
// points do not: once no stream traces the process, they load a zero and return. The reaper runs as
// a finalizer after each garbage collection. A timer would keep the runtime from detecting the
// deadlock of a traced program.
type reaper struct{ t *Process }

func (w *reaper) reap() {
	t := w.t
	if !t.mu.TryLock() { // do not delay other finalizers
		runtime.SetFinalizer(w, (*reaper).reap)
		return
	}
	defer t.mu.Unlock()
	old := t.Table.Load()
	live := slices.Clone(old.Streams)
	live = slices.DeleteFunc(live, func(a *conn.Attachment) bool { return a.Conn.Dead() })
	if len(live) < len(old.Streams) {
		n := *old
		n.Streams = live
		n.count()
		t.Table.Store(&n)
	}
	if len(live) == 0 {
		t.reaping = false
		return
	}
	runtime.SetFinalizer(w, (*reaper).reap)
}
