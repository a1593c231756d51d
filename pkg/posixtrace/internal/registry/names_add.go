package registry

import (
	"bytes"
	"fmt"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// BeforePublish sets a function that is called for every name that Open adds, before another
// process can see the name: the place to update filters. The file has room for the name by then. If the
// process is killed before the name is visible, the next name gets the same id, and another call. The
// function must not call methods of n, nor wait. nil is none.
func (n *Names) BeforePublish(f func(id event.ID, name string)) {
	if f == nil {
		n.hook.Store(nil)
		return
	}
	n.hook.Store(&f)
}

// Quota bounds how many names are added. Both functions are called under the lock of the names: Left for
// a new name, which is added if Left returns true, and Use when it was added.
type Quota struct {
	Left func() bool
	Use  func()
}

// Open returns the number of a user or system name, and adds a new name if the quota, when not nil,
// allows it. A user name that cannot be added gets event.Unnamed. Predefined names have their predefined
// numbers.
//
// Errors: ENAMETOOLONG; ENOSPC a system name that cannot be added, or no space for the file.
func (n *Names) Open(name string, system bool, q *Quota) (id event.ID, added bool, err error) {
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
	if err := n.lockFile(lockWait); err != nil {
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
	if id >= limit(class(system)) || q != nil && !q.Left() {
		if system {
			return 0, false, fmt.Errorf("event type %q: no more names: %w", name, syscall.ENOSPC)
		}
		return event.Unnamed, false, nil
	}
	if err := n.publish(appendRecord(nil, id, system, name), Type{id, name}); err != nil {
		return 0, false, err
	}
	if q != nil {
		q.Use()
	}
	return id, true, nil
}

// While calls f with the event types. No type is added until f returns. f must not call methods of
// n, nor wait.
func (n *Names) While(f func(all []Type) error) error {
	n.adding.Lock()
	defer n.adding.Unlock()
	if err := n.lockFile(lockWait); err != nil {
		return err
	}
	defer func() { sys.Funlock(n.f) }()
	if err := n.reconcile(); err != nil {
		return err
	}
	return f(n.known())
}

// OpenSystem opens many system names. It locks and reads the file once.
func (n *Names) OpenSystem(list []string) ([]event.ID, error) {
	n.adding.Lock()
	defer n.adding.Unlock()
	if err := n.lockFile(lockWait); err != nil {
		return nil, err
	}
	defer func() { sys.Funlock(n.f) }()
	if err := n.reconcile(); err != nil {
		return nil, err
	}
	ids := make([]event.ID, len(list))
	added := make(map[string]event.ID)
	var records []byte
	var types []Type
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
		records, types = appendRecord(records, next, true, name), append(types, Type{next, name})
		ids[i], added[name] = next, next
		next++
	}
	if records == nil {
		return ids, nil
	}
	return ids, n.publish(records, types...)
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

// publish appends the records of new types to the file, which is locked, and to the table. First it writes
// them with a wrong checksum in the first one, so that no reader takes any of them; then it calls the
// hook for each; the right checksum publishes them all.
func (n *Names) publish(b []byte, types ...Type) error {
	draft := bytes.Clone(b)
	draft[0] ^= 0xff
	if err := n.write(draft); err != nil {
		return err
	}
	if f := n.hook.Load(); f != nil {
		for _, t := range types {
			(*f)(t.ID, t.Name)
		}
	}
	_, end := n.next(0)
	if _, err := n.f.WriteAt(b[:4], end); err != nil {
		n.f.Truncate(end)
		return err
	}
	return n.refresh()
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
