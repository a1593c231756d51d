package registry

import (
	"errors"
	"fmt"
	"os"
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

// Names opens the names of a family, and creates the file if there is none. It waits for no lock: a
// trace point may be the caller.
func (d *Dir) Names(family uint64) (*Names, error) {
	if family == 0 {
		return nil, fmt.Errorf("names of family 0: %w", syscall.EINVAL)
	}
	n := &Names{d: d, family: family, t: newTable()}
	switch err := n.lockFile(0); {
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

// lockWait bounds the wait for the lock of a file of names to add one. Holders keep it briefly, but a
// signal may stop one just then, and a traced process must not stop with it.
var lockWait = 3 * time.Second // tests set it

// lockFile locks the file, and opens it if it is not open or was swept. The caller holds n.adding,
// or n is new. Errors: EAGAIN another process has held the lock for so long.
func (n *Names) lockFile(wait time.Duration) error {
	for range 100 {
		if n.f != nil && n.swept() { // its lock excludes no process that opens it by name
			n.setFile(nil)
		}
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
		if err := sys.FlockWithin(n.f, wait); err != nil {
			return fmt.Errorf("lock %s: %w", n.f.Name(), err)
		}
		if !n.swept() {
			return nil
		}
		n.setFile(nil)
	}
	return fmt.Errorf("names of family %016x: %w", n.family, syscall.EAGAIN)
}

// swept reports whether the file was removed and another one can be made. Without a directory, the removed
// one still serves the processes that have it open.
func (n *Names) swept() bool {
	st, err := sys.Fstat(n.f)
	return err != nil || st.Nlink == 0 && n.findDir()
}

// setFile replaces the file and closes the old one, which another goroutine may read with n.mu held.
func (n *Names) setFile(f *os.File) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.f
	n.f = f
	if old == nil {
		return nil
	}
	return old.Close()
}

// Family returns the family.
func (n *Names) Family() uint64 { return n.family }

// Close closes the file. Names that are known remain available.
func (n *Names) Close() error {
	n.adding.Lock()
	defer n.adding.Unlock()
	return n.setFile(nil)
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

// known returns the names read so far.
func (n *Names) known() []Type {
	list := make([]Type, 0, len(event.Predefined)+32)
	for _, p := range event.Predefined {
		list = append(list, Type{p.ID, p.Name})
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return append(list, n.t.order...)
}
