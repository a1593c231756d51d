package registry

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A file of names may be removed while processes use it, as the page may. A process then goes on with
// the file that another process of the family has made in its place.

// Move switches to the file of another directory. That gets the names that it lacks now or, if its
// lock is taken, with the next name that is added. Errors: EAGAIN another goroutine waits for the lock of
// the former file.
func (n *Names) Move(d *Dir) error {
	if !n.adding.TryLock() {
		return fmt.Errorf("names of family %016x: %w", n.family, syscall.EAGAIN)
	}
	defer n.adding.Unlock()
	f, err := d.openOwn(namesName(n.family), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	n.mu.Lock()
	if n.f != nil {
		n.f.Close()
	}
	n.d, n.f = d, f
	n.mu.Unlock()
	if sys.Flock(f, true, false) == nil {
		defer sys.Funlock(f)
		return n.reconcile()
	}
	return nil
}

// update reads new names like refresh, also after the file was removed.
func (n *Names) update() error {
	if err := n.refresh(); err != nil {
		return err
	}
	n.mu.RLock()
	removed := false
	if n.f != nil {
		st, err := sys.Fstat(n.f)
		removed = err == nil && st.Nlink == 0
	}
	n.mu.RUnlock()
	if removed && n.adding.TryLock() {
		n.follow()
		n.adding.Unlock()
	}
	return nil
}

// follow switches to the file that other processes of the family have made since, if it begins with
// the names of the removed one. The caller holds n.adding.
func (n *Names) follow() {
	if !n.findDir() {
		return
	}
	f, err := n.d.openOwn(namesName(n.family), os.O_RDWR)
	if err != nil {
		return
	}
	fresh := newTable()
	err = fresh.readFrom(f)
	n.mu.Lock()
	defer n.mu.Unlock()
	ours := n.t.order
	if err != nil || n.f == nil || len(fresh.order) < len(ours) || !slices.Equal(ours, fresh.order[:len(ours)]) {
		f.Close()
		return
	}
	n.f.Close()
	n.f, n.t = f, fresh
}

// findDir opens the directory again if it was removed, and reports whether there is one. The caller
// holds n.adding.
func (n *Names) findDir() bool {
	if !n.d.Gone() {
		return true
	}
	at, st, err := sys.OpenDir(n.d.path, false)
	if err != nil {
		return false
	}
	if unsafeDir(n.d.path, &st, nil) != nil {
		at.Close()
		return false
	}
	n.d = &Dir{f: at, path: n.d.path}
	return true
}
