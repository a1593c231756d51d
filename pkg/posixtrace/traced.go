package posixtrace

import (
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// traced is this process in its role as a traced process.
var traced tracedProcess

type tracedProcess struct {
	mu      sync.Mutex
	table   atomic.Pointer[table]
	proc    *proc
	reaping bool // a weeder is at work
	missed  misses
	// known is how many user ids are known to be registered, the unnamed one included.
	// Ids are given out one after the other.
	known atomic.Uint32
	// How often an id was asked about that is not registered, and when last.
	unknown   atomic.Uint32
	unknownAt atomic.Int64
}

// Of ids that are not registered so many are looked up at once, and then one in a while: each
// costs a lock and a system call.
const (
	unknownAtOnce = 64
	unknownPause  = time.Millisecond
)

// learn notes that id is registered.
func (t *tracedProcess) learn(id EventID) {
	if !id.User() {
		return
	}
	for {
		k, n := t.known.Load(), uint32(id)-uint32(event.Unnamed)+1
		if n <= k || t.known.CompareAndSwap(k, n) {
			return
		}
	}
}

// knows finds out whether a user id is registered that this process has not
// asked for by its name.
func (t *tracedProcess) knows(id EventID) bool {
	if t.unknown.Load() >= unknownAtOnce && int64(sys.Monotonic())-t.unknownAt.Load() < int64(unknownPause) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.proc == nil {
		return false
	}
	if _, ok := t.proc.names.Lookup(event.ID(id)); !ok {
		if t.unknown.Load() < unknownAtOnce {
			t.unknown.Add(1)
		}
		t.unknownAt.Store(int64(sys.Monotonic()))
		return false
	}
	t.unknown.Store(0)
	t.learn(id)
	return true
}

func loadWord() *uint32 {
	return (*uint32)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&word))))
}

func storeWord(w *uint32) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&word)), unsafe.Pointer(w))
}

// open finds or makes the process's page.
func (t *tracedProcess) open() (*proc, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.openLocked()
	if err != nil {
		t.missed.noteByName(err)
	}
	return p, err
}

func (t *tracedProcess) openLocked() (*proc, error) {
	if t.proc != nil {
		if t.proc.page.Moved() {
			t.move()
		}
		return t.proc, nil
	}
	d, err := openDir()
	if err != nil {
		return nil, err
	}
	p, err := openProc(d, sys.SelfProc())
	if err != nil {
		return nil, err
	}
	// The names of the program before this one do not count (INH-08); what a
	// controller has added for this one does (MAP-09).
	p.page.Opened()
	if !sys.Secure() {
		t.inherit(p)
	} else if os.Geteuid() != 0 && !p.release() {
		// The page says that we are traced, so it is not asked.
		t.proc = p
		storeWord(new(uint32))
		return p, nil
	}
	t.proc = p
	storeWord(p.page.Word())
	return p, nil
}

// move goes on with another page: the trace directory was removed, or what was in it, and
// a controller has made the process a new one. The old one stays mapped, for trace points of other
// goroutines look at it.
func (t *tracedProcess) move() {
	d, err := openDir()
	if err != nil {
		return
	}
	page, err := d.Page(sys.SelfProc(), true)
	if err != nil {
		return
	}
	if err := t.proc.names.Move(d); err != nil {
		page.Close()
		return
	}
	t.proc.page.Forget()
	// Others may have the old value in their hands, so it is not changed.
	t.proc = &proc{dir: d, page: page, names: t.proc.names}
	storeWord(page.Word())
}

// inherit is inheritByName, which is tried again should it fail.
func (t *tracedProcess) inherit(p *proc) {
	err := inheritByName(p)
	if t.missed.byName = err != nil && transient(err); t.missed.byName {
		t.missed.noteByName(err)
	}
}

// sync brings the table in line with the process page. It returns nil when there is no page.
func (t *tracedProcess) sync() *table {
	n := t.table.Load()
	if !n.pending() {
		n = t.renew()
	}
	if n.none {
		return nil
	}
	return n
}

// renew makes the table anew if it is not in line, or the time has come to try again what
// failed.
func (t *tracedProcess) renew() *table {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.table.Load()
	if old.pending() { // another was faster
		return old
	}
	p, err := t.openLocked()
	if err != nil {
		t.missed.noteByName(err)
		n := &table{seen: atomic.LoadUint32(loadWord()), again: t.missed.next(), none: true}
		t.table.Store(n)
		return n
	}
	if t.missed.byName {
		t.inherit(p)
	}
	failed := t.missed.byName
	now := atomic.LoadUint32(p.page.Word())
	if old != nil && old.again == 0 && old.word == now {
		return old
	}
	n := &table{word: now, seen: now, fast: sys.FastSelf(), outline: outline()}
	n.outer = probedOuter.Load()
	for _, e := range p.page.Entries() {
		if e.Flags&registry.Self == 0 {
			continue
		}
		if a := old.find(e.Stream); a != nil {
			n.streams = append(n.streams, a)
			continue
		}
		a, err := t.connect(p.dir, e.Stream)
		if err != nil {
			failed = failed || transient(err)
			continue
		}
		runtime.SetFinalizer(a, (*attachment).close)
		n.streams = append(n.streams, a)
	}
	n.count()
	if failed {
		n.word, n.again = 0, t.missed.next()
	} else {
		t.missed = misses{}
	}
	t.table.Store(n)
	if len(n.streams) > 0 && !t.reaping {
		t.reaping = true
		runtime.SetFinalizer(&reaper{t}, (*reaper).reap)
	}
	return n
}

// connect makes this process a writer of a stream, or tells that stream why it cannot.
func (t *tracedProcess) connect(d *registry.Dir, id uint64) (*attachment, error) {
	c, err := openStream(d, id)
	if err != nil {
		if transient(err) {
			t.missed.note(id, err, func(no syscall.Errno) bool {
				return reportMiss(id, no, func() (*os.File, error) { return d.OpenStreamFile(id) })
			})
		}
		return nil, err
	}
	a, err := attach(c, sys.SelfProc(), max(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	if err != nil {
		t.missed.note(id, err, c.addMissed)
		c.release() // not before the next collection would be late for who is traced
		return nil, err
	}
	t.missed.connected(c)
	// The descriptor is needed for the lock only.
	c.f.Close()
	return a, nil
}

// weeder lets go of streams that have been shut down, memory and all. The trace
// points do not: of a process that nobody traces any more they look at nothing but a
// zero. It comes with each garbage collection. A timer would keep the runtime from
// noticing that a program is deadlocked, which nobody must be denied for being traced.
type reaper struct{ t *tracedProcess }

func (w *reaper) reap() {
	t := w.t
	if !t.mu.TryLock() { // finalizers, which may be the application's, do not wait for us
		runtime.SetFinalizer(w, (*reaper).reap)
		return
	}
	defer t.mu.Unlock()
	old := t.table.Load()
	live := slices.Clone(old.streams)
	live = slices.DeleteFunc(live, func(a *attachment) bool { return a.c.dead() })
	if len(live) < len(old.streams) {
		n := *old
		n.streams = live
		n.count()
		t.table.Store(&n)
	}
	if len(live) == 0 {
		t.reaping = false
		return
	}
	runtime.SetFinalizer(w, (*reaper).reap)
}

// outline finds out where in the body of Event, when that is called and not
// inlined, the call of record returns to: it calls Event in that way. That tells
// something only while the process is traced, and is tried until it does.
func outline() uint64 {
	if sys.FastSelf() && probed.Load() == 0 {
		call := Event
		if reflect.ValueOf(&call).Elem().CanSet() { // keeps the call from being inlined
			call(probe, probeMark[:])
		}
	}
	return probed.Load()
}

// probe is no event type, but together with probeMark it tells record to say
// who called it.
const probe = ^EventID(0)

var probeMark [1]byte

var (
	probed      atomic.Uint64
	probedOuter atomic.Bool // whether sys.Outer tells who called that Event
)
