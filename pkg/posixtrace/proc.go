package posixtrace

import (
	"os"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// proc is a process in the registry: its page and the names of its family.
type proc struct {
	dir   *registry.Dir
	page  *registry.Page
	names *registry.Names
}

func openProc(d *registry.Dir, p sys.Proc) (*proc, error) {
	page, err := d.Page(p, true)
	if err != nil {
		return nil, err
	}
	return withPage(d, page)
}

// withPage returns the proc of a page. It closes the page if it fails.
func withPage(d *registry.Dir, page *registry.Page) (*proc, error) {
	names, err := conn.OpenNames(d, page.Family())
	if err != nil {
		page.Close()
		return nil, err
	}
	return &proc{dir: d, page: page, names: names}, nil
}

// eventID returns the id of a name, and registers a new name for the process.
func (p *proc) eventID(name string) (EventID, error) {
	id, _, err := p.names.Open(name, false, &registry.Quota{
		Left: func() bool {
			p.page.Renew()
			return p.page.AddUserNames(0) < UserEventMax-1 // the unnamed event is one more type
		},
		Use: func() { p.page.AddUserNames(1) },
	})
	return EventID(id), err
}

// release removes the process from its streams: it has become a set-gid or set-uid program, which
// only a privileged controller may trace (INH-16), and the controllers of this directory are not.
// It reports whether it succeeded without waiting for a lock.
func (p *proc) release() bool {
	list := p.page.Entries()
	if len(list) == 0 {
		return true
	}
	unlock, err := p.dir.TryLock()
	if err != nil {
		return false
	}
	defer unlock()
	for _, e := range list {
		p.page.Detach(e.Stream)
	}
	return true
}

// inheritByName attaches the process to the stream that $PTRACE_STREAM names, if children inherit
// that stream. It works also if the parents of the process have ended.
func inheritByName(p *proc) error {
	path := os.Getenv("PTRACE_STREAM")
	if path == "" || path[0] != '/' {
		return nil
	}
	id, ok := registry.StreamIDOfPath(path)
	if !ok {
		return nil
	}
	for _, e := range p.page.Entries() {
		if e.Stream == id {
			return nil
		}
	}
	c, err := conn.OpenPath(path)
	if err != nil {
		return err
	}
	defer c.Release()
	if !c.Mem.Inherit || c.Dir.Path() != p.dir.Path() || c.Dead() ||
		c.Mem.BornTick() > p.page.Proc().Start {
		return nil
	}
	if len(p.page.Entries()) == 0 && p.page.SetFamily(c.Mem.Family()) == nil {
		p.names.Close()
		if n, err := conn.OpenNames(p.dir, p.page.Family()); err == nil {
			p.names = n
		}
	}
	if err := p.page.AttachSelf(id, registry.Self|registry.Inherit); err != nil {
		return err
	}
	if c.Dead() {
		// The shutdown may have passed this page already.
		if unlock, err := p.dir.TryLock(); err == nil {
			p.page.Detach(id)
			unlock()
		}
	}
	return nil
}
