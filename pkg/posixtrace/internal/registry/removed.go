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

// removedFiles are the removed files that a running process still uses.
type removedFiles struct {
	page  *Page // nil for none
	names *os.File
}

// findRemoved finds the removed page that process p, which has no page, still uses. Errors: ESTALE p
// uses one, but it cannot be opened.
func (d *Dir) findRemoved(p sys.Proc) (r removedFiles, err error) {
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
		// A process may keep descriptors of pages that it has moved from.
		if checkHeader(mem, p) != pageSound || r.page != nil && pg.Moved() && !r.page.Moved() {
			pg.Close()
			continue
		}
		if r.page != nil {
			r.page.Close()
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

// entries returns the entries of the old page and those of list that are not in it.
func (r *removedFiles) entries(list []Entry) []Entry {
	old := r.page.Entries()
	for _, e := range list {
		if !slices.ContainsFunc(old, func(o Entry) bool { return o.Stream == e.Stream }) && len(old) < MaxStreams {
			old = append(old, e)
		}
	}
	return old
}

// restoreNames writes the names that the processes of the family know. They stay locked until the
// caller calls done. A process that makes its own page does not wait for the lock.
func (d *Dir) restoreNames(r removedFiles) (done func(), err error) {
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
	wait := lockWait
	if r.page.proc.IsSelf() {
		wait = 0
	}
	if err := n.lockFile(wait); err != nil {
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

// redirect sends the process from its old page to the new one, which it opens by name.
func (r *removedFiles) redirect() {
	if r.page != nil {
		r.page.u32(offMoved).Store(1)
		// The word comes last: a trace point reads nothing else.
		r.page.u32(offWord).Store(max(r.page.u32(offGeneration).Add(1), 1))
	}
}

func (r *removedFiles) close() {
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
