package registry

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The files of the trace directory may be removed while processes run, as at the end of a user's
// last session. A process then still uses the page that it has mapped. A process that makes a new
// page for it finds the old one among its descriptors, copies the contents, and leaves a mark in it
// that sends the process to the new page.

// remains are the removed files that a running process still uses.
type remains struct {
	page  *Page // nil for none
	names *os.File
}

// remains finds the removed page that process p, which has no page, still uses. Errors: ESTALE p
// uses one, but it cannot be opened.
func (d *Dir) remains(p sys.Proc) (r remains, err error) {
	files := sys.OpenRemoved(int(p.PID), func(name string) bool {
		_, names := parseNamesName(name)
		return names || name == pageName(p)
	})
	defer func() {
		for _, f := range files {
			if f != r.names {
				f.Close()
			}
		}
	}()
	for _, f := range files {
		if st, err := sys.Fstat(f); err != nil || st.Size != pageSize || checkFile(&st) != nil {
			continue
		}
		mem, err := sys.Map(f, pageSize, true)
		if err != nil {
			continue
		}
		pg := &Page{d: d, proc: p, mem: mem}
		if checkHeader(mem, p) != pageSound || r.page != nil {
			pg.Close()
			continue
		}
		r.page = pg
	}
	if r.page == nil {
		if !p.IsSelf() && sys.MapsRemoved(int(p.PID), pageName(p)) {
			return r, fmt.Errorf("process %d uses a page that was removed: %w", p.PID, syscall.ESTALE)
		}
		return r, nil
	}
	// There may be several, of different times; a later one begins like the earlier ones.
	var most int64
	for _, f := range files {
		if st, err := sys.Fstat(f); err == nil && checkFile(&st) == nil && f.Name() == namesName(r.page.Family()) && st.Size >= most {
			r.names, most = f, st.Size
		}
	}
	return r, nil
}

// heritage returns the entries of the old page and those of list that are not in it.
func (r *remains) heritage(list []Entry) []Entry {
	old := r.page.Entries()
	for _, e := range list {
		if !slices.ContainsFunc(old, func(o Entry) bool { return o.Stream == e.Stream }) && len(old) < MaxStreams {
			old = append(old, e)
		}
	}
	return old
}

// restoreNames writes the names that the processes of the family know. They stay locked until the
// caller calls done.
func (d *Dir) restoreNames(r remains) (done func(), err error) {
	done = func() {}
	if r.names == nil {
		return done, nil
	}
	n := &Names{d: d, family: r.page.Family(), t: newTable()}
	if err := n.t.readFrom(r.names); err != nil {
		return done, err
	}
	n.adding.Lock()
	defer n.adding.Unlock()
	if err := n.lockFile(); err != nil {
		if n.f != nil {
			n.f.Close()
		}
		return done, err
	}
	return func() {
		sys.Funlock(n.f)
		n.f.Close()
	}, n.reconcile()
}

// leave sends the process from its old page to the new one, which it opens by name.
func (r *remains) leave() {
	if r.page != nil {
		r.page.u32(offMoved).Store(1)
		// The word comes last: a trace point reads nothing else.
		r.page.u32(offWord).Store(max(r.page.u32(offGeneration).Add(1), 1))
	}
}

func (r *remains) close() {
	if r.page != nil {
		r.page.Close()
	}
	if r.names != nil {
		r.names.Close()
	}
}

// Moved reports whether the page's file was removed and the process has another page.
func (pg *Page) Moved() bool { return pg.u32(offMoved).Load() != 0 }

// Forget closes the descriptor of the process's own page, which stays mapped.
func (pg *Page) Forget() {
	if pg.file != nil {
		pg.file.Close()
		pg.file = nil
	}
}

// Move switches to the file of another directory. That gets the names that it lacks now or, if its
// lock is taken, with the next name that is added.
func (n *Names) Move(d *Dir) error {
	f, err := d.openOwn(namesName(n.family), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	n.adding.Lock()
	defer n.adding.Unlock()
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

// update is refresh that also handles a removed file.
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
