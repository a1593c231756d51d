package posixtrace

import (
	"errors"
	"os"
	"reflect"
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
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// traced is the role of this process as a traced process.
var traced tracedProcess

type tracedProcess struct {
	mu      sync.Mutex
	table   atomic.Pointer[table]
	proc    *proc
	reaping bool // a reaper exists
	missed  misses
	// known is the number of user ids known to be registered, the unnamed one included. The
	// registry assigns ids in order.
	known atomic.Uint32
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

// learn marks id as registered.
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

// knows reports whether a user id is registered. The process has not opened the id by its name.
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

// loadWord returns the pointer to the word of the process page.
func loadWord() *uint32 {
	return (*uint32)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&word))))
}

func storeWord(w *uint32) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&word)), unsafe.Pointer(w))
}

// open returns the process's page and names, and makes the page if there is none.
func (t *tracedProcess) open() (*proc, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.openLocked()
	if err != nil && !errors.Is(err, syscall.EAGAIN) { // the caller retries, or a trace point does
		t.missed.noteByName(err)
	}
	return p, err
}

// openWithin is open that retries for a while when another process has a lock: a trace point of another
// goroutine does not wait for it meanwhile.
func (t *tracedProcess) openWithin(wait time.Duration) (*proc, error) {
	p, err := t.open()
	for end := time.Now().Add(wait); errors.Is(err, syscall.EAGAIN) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
		p, err = t.open()
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
	d, err := conn.OpenDir()
	if err != nil {
		return nil, err
	}
	p, err := openProc(d, sys.SelfProc())
	if err != nil {
		return nil, err
	}
	// The names of the program before exec do not count (INH-08). Names that a controller has added
	// for this program do (MAP-09).
	p.page.Opened()
	if !sys.Secure() {
		t.inherit(p)
	} else if os.Geteuid() != 0 && !p.release() {
		// The page still says that the process is traced: use a word of our own.
		t.proc = p
		storeWord(new(uint32))
		return p, nil
	}
	t.proc = p
	storeWord(p.page.Word())
	return p, nil
}

// move continues with a new page, which a controller has made after the trace directory or its
// files were removed. The old page stays mapped: trace points of other goroutines read it. If move
// fails, the old page is still the process's, and says so (Moved).
func (t *tracedProcess) move() {
	d, err := conn.OpenDir()
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
	// Other goroutines may use the old value: leave it unchanged.
	t.proc = &proc{dir: d, page: page, names: t.proc.names}
	storeWord(page.Word())
}

// inherit is inheritByName with later retries if it fails.
func (t *tracedProcess) inherit(p *proc) {
	err := inheritByName(p)
	if t.missed.byName = err != nil && transient(err); t.missed.byName {
		t.missed.noteByName(err)
	}
}

// sync returns a table that agrees with the process page, nil if there is no page.
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

// renew makes a new table if the old one disagrees with the page, or if a retry is due.
func (t *tracedProcess) renew() *table {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.table.Load()
	if old.pending() { // another goroutine was faster
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
	failed := t.missed.byName || p.page.Moved()
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
		runtime.SetFinalizer(a, (*conn.Attachment).Close)
		n.streams = append(n.streams, a)
	}
	n.count()
	if failed {
		n.word, n.again = 0, t.missed.next()
	} else if !t.missed.foreign {
		t.missed = misses{}
	}
	t.table.Store(n)
	if len(n.streams) > 0 && !t.reaping {
		t.reaping = true
		runtime.SetFinalizer(&reaper{t}, (*reaper).reap)
	}
	return n
}

// connect makes this process a writer of a stream, or reports to the stream why it cannot.
func (t *tracedProcess) connect(d *registry.Dir, id uint64) (*conn.Attachment, error) {
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
	a.Writer.NoteMaps(ownMaps())
	t.missed.connected(c)
	// Only the lock needs the descriptor.
	c.File.Close()
	return a, nil
}

// reaper drops attachments of streams that have been shut down, and so frees their memory. Trace
// points do not: once no stream traces the process, they load a zero and return. The reaper runs as
// a finalizer after each garbage collection. A timer would keep the runtime from detecting the
// deadlock of a traced program.
type reaper struct{ t *tracedProcess }

func (w *reaper) reap() {
	t := w.t
	if !t.mu.TryLock() { // do not delay other finalizers
		runtime.SetFinalizer(w, (*reaper).reap)
		return
	}
	defer t.mu.Unlock()
	old := t.table.Load()
	live := slices.Clone(old.streams)
	live = slices.DeleteFunc(live, func(a *conn.Attachment) bool { return a.Conn.Dead() })
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

// outline returns the address in the body of Event, where the compiler did not inline it, that
// record returns to. To find it, outline calls Event without inlining. The call reaches record only
// while the process is traced: until then outline returns 0 and retries at the next call.
func outline() uint64 {
	if sys.FastSelf() && probed.Load() == 0 {
		call := Event
		if reflect.ValueOf(&call).Elem().CanSet() { // prevents inlining of the call
			call(probe, probeMark[:])
		}
	}
	return probed.Load()
}

// probe is no event type. With probeMark as its data it asks record for its return address.
const probe = ^EventID(0)

var probeMark [1]byte

var (
	probed      atomic.Uint64
	probedOuter atomic.Bool // sys.Outer finds the caller of that Event
)
