package registry

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Names is the table of event types of a family of processes. A name keeps its number for good. It
// is safe for concurrent use.
type Names struct {
	d      *Dir
	family uint64
	hook   atomic.Pointer[func(event.ID, string)]

	adding sync.Mutex // held over the lock of the file; it excludes our own goroutines
	f      *os.File   // changes under adding and mu

	mu sync.RWMutex // never held while waiting for the file's lock
	t  *table
}

// Names opens the names of a family, and creates the file if there is none.
func (d *Dir) Names(family uint64) (*Names, error) {
	if family == 0 {
		return nil, fmt.Errorf("names of family 0: %w", syscall.EINVAL)
	}
	n := &Names{d: d, family: family, t: newTable()}
	switch err := n.lockFile(); {
	case err == nil:
		sys.Funlock(n.f)
	case errors.Is(err, syscall.EAGAIN) && n.f != nil: // the file can be read without the lock
	default:
		if n.f != nil {
			n.f.Close()
		}
		return nil, err
	}
	if err := n.refresh(); err != nil {
		n.f.Close()
		return nil, err
	}
	return n, nil
}

// lockWait bounds the wait for the lock of a file of names. Holders keep it briefly, but a signal
// may stop one just then, and a traced process must not stop with it.
var lockWait = 3 * time.Second // tests set it

// lockFile locks the file, and opens it if it is not open or was swept. The caller holds n.adding,
// or n is new. Errors: EAGAIN another process has held the lock for lockWait.
func (n *Names) lockFile() error {
	for range 100 {
		if n.f == nil {
			f, err := n.d.openOwn(namesName(n.family), os.O_RDWR|os.O_CREATE)
			if errors.Is(err, syscall.ENOENT) { // swept while it was opened
				continue
			}
			if err != nil {
				return err
			}
			n.setFile(f)
		}
		if err := sys.FlockWithin(n.f, lockWait); err != nil {
			return fmt.Errorf("lock %s: %w", n.f.Name(), err)
		}
		st, err := sys.Fstat(n.f)
		if err == nil && (st.Nlink > 0 || !n.findDir()) {
			return nil // without a directory, it still serves the processes that have it open
		}
		n.f.Close()
		n.setFile(nil)
	}
	return fmt.Errorf("names of family %016x: %w", n.family, syscall.EAGAIN)
}

func (n *Names) setFile(f *os.File) {
	n.mu.Lock()
	n.f = f
	n.mu.Unlock()
}

// Family returns the family.
func (n *Names) Family() uint64 { return n.family }

// Close closes the file. Names that are known remain available.
func (n *Names) Close() error {
	n.adding.Lock()
	defer n.adding.Unlock()
	if n.f == nil {
		return nil
	}
	err := n.f.Close()
	n.setFile(nil)
	return err
}

// BeforePublish sets a function that is called for every name that Open adds, before another
// process can see the name: the place to update filters. The function must not call methods of n,
// nor wait. nil is none.
func (n *Names) BeforePublish(f func(id event.ID, name string)) {
	if f == nil {
		n.hook.Store(nil)
		return
	}
	n.hook.Store(&f)
}

// Open returns the number of a user or system name, and adds a new name if mayAdd, when not nil,
// agrees. mayAdd is called only for a new name. A user name that cannot be added gets
// event.Unnamed. Predefined names have their predefined numbers.
//
// Errors: ENAMETOOLONG; ENOSPC a system name that cannot be added, or no space for the file.
func (n *Names) Open(name string, system bool, mayAdd func() bool) (id event.ID, added bool, err error) {
	if len(name) > event.NameMax {
		return 0, false, fmt.Errorf("event name of %d bytes: %w", len(name), syscall.ENAMETOOLONG)
	}
	if id := event.PredefinedID(name); id != 0 {
		return id, false, nil
	}
	k := key{name, system}
	if id := n.lookup(k); id != 0 {
		return id, false, nil
	}
	n.adding.Lock()
	defer n.adding.Unlock()
	// Most names that are new to this process are not new to the family.
	if err := n.refresh(); err != nil {
		return 0, false, err
	}
	if id := n.lookup(k); id != 0 {
		return id, false, nil
	}
	if err := n.lockFile(); err != nil {
		return 0, false, err
	}
	defer func() { sys.Funlock(n.f) }()
	if err := n.reconcile(); err != nil {
		return 0, false, err
	}
	if id := n.lookup(k); id != 0 {
		return id, false, nil
	}
	id, _ = n.next(class(system)) // the lock keeps it from changing
	if id >= limit(class(system)) || mayAdd != nil && !mayAdd() {
		if system {
			return 0, false, fmt.Errorf("event type %q: no more names: %w", name, syscall.ENOSPC)
		}
		return event.Unnamed, false, nil
	}
	if f := n.hook.Load(); f != nil {
		(*f)(id, name)
	}
	if err := n.write(appendRecord(nil, id, system, name)); err != nil {
		return 0, false, err
	}
	return id, true, nil
}

// While calls f with the event types. No type is added until f returns. f must not call methods of
// n, nor wait.
func (n *Names) While(f func(all []Type) error) error {
	n.adding.Lock()
	defer n.adding.Unlock()
	if err := n.lockFile(); err != nil {
		return err
	}
	defer func() { sys.Funlock(n.f) }()
	if err := n.reconcile(); err != nil {
		return err
	}
	return f(n.known())
}

// OpenSystem is Open for many system names. It locks and reads the file once.
func (n *Names) OpenSystem(list []string) ([]event.ID, error) {
	n.adding.Lock()
	defer n.adding.Unlock()
	if err := n.lockFile(); err != nil {
		return nil, err
	}
	defer func() { sys.Funlock(n.f) }()
	if err := n.reconcile(); err != nil {
		return nil, err
	}
	ids := make([]event.ID, len(list))
	added := make(map[string]event.ID)
	var records []byte
	next, _ := n.next(class(true))
	for i, name := range list {
		if len(name) > event.NameMax {
			return nil, fmt.Errorf("event name of %d bytes: %w", len(name), syscall.ENAMETOOLONG)
		}
		for _, id := range []event.ID{event.PredefinedID(name), n.lookup(key{name, true}), added[name]} {
			if id != 0 {
				ids[i] = id
			}
		}
		if ids[i] != 0 {
			continue
		}
		if next >= limit(class(true)) {
			return nil, fmt.Errorf("event type %q: no more names: %w", name, syscall.ENOSPC)
		}
		if f := n.hook.Load(); f != nil {
			(*f)(next, name)
		}
		records = appendRecord(records, next, true, name)
		ids[i], added[name] = next, next
		next++
	}
	if records == nil {
		return ids, nil
	}
	return ids, n.write(records)
}

func (n *Names) lookup(k key) event.ID {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.t.ids[k]
}

// refresh reads the names that other processes have added.
func (n *Names) refresh() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.f == nil {
		return nil
	}
	return n.t.readFrom(n.f)
}

// reconcile brings table and file together under the file's lock. As a rule that is a refresh. A
// file that was swept or cut short gets the names back that this process has given out: otherwise
// their numbers would be given to other names.
func (n *Names) reconcile() error {
	fresh := newTable()
	if err := fresh.readFrom(n.f); err != nil {
		return err
	}
	n.mu.Lock()
	ours := n.t.order
	common := min(len(ours), len(fresh.order))
	if !slices.Equal(ours[:common], fresh.order[:common]) {
		n.mu.Unlock()
		return fmt.Errorf("%s: not the names it held before: %w", n.f.Name(), syscall.ESTALE)
	}
	n.t = fresh
	n.mu.Unlock()
	var lost []byte
	for _, t := range ours[common:] {
		lost = appendRecord(lost, t.ID, t.ID.System(), t.Name)
	}
	if lost == nil {
		return nil
	}
	return n.write(lost)
}

// next returns the id of the next name of a class, and where in the file its record goes.
func (n *Names) next(class byte) (event.ID, int64) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.t.next[class], n.t.end
}

// write appends records to the file, which is locked, and to the table.
func (n *Names) write(b []byte) error {
	_, end := n.next(0)
	st, err := sys.Fstat(n.f)
	if err != nil {
		return err
	}
	if st.Size > end { // a record whose writer died
		if err := n.f.Truncate(end); err != nil {
			return err
		}
	}
	if _, err := n.f.WriteAt(b, end); err != nil {
		n.f.Truncate(end)
		return err
	}
	return n.refresh()
}

// Name returns the name of an event type, "" if it has none. Lookup distinguishes that from an
// empty name.
func (n *Names) Name(id event.ID) string {
	name, _ := n.Lookup(id)
	return name
}

// Lookup returns the name of an event type and whether there is such a type.
func (n *Names) Lookup(id event.ID) (string, bool) {
	if id < event.FirstUser {
		name := event.PredefinedName(id)
		return name, name != ""
	}
	if !id.Valid() {
		return "", false
	}
	name, ok := n.name(id)
	if !ok && n.update() == nil {
		name, ok = n.name(id)
	}
	return name, ok
}

func (n *Names) name(id event.ID) (string, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	name, ok := n.t.names[id]
	return name, ok
}

// All returns the event types: the predefined ones, then the others in the order in which they were
// added. A later list begins with this one.
func (n *Names) All() []Type {
	n.update()
	return n.known()
}

// known is All without reading the file.
func (n *Names) known() []Type {
	list := make([]Type, 0, len(event.Predefined)+32)
	for _, p := range event.Predefined {
		list = append(list, Type{p.ID, p.Name})
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return append(list, n.t.order...)
}
