package tracee

import (
	"os"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Proc is a process in the registry: its page and the names of its family.
type Proc struct {
	Dir   *registry.Dir
	Page  *registry.Page
	Names *registry.Names
}

// OpenProc returns the Proc of p, whose page it makes if there is none.
func OpenProc(d *registry.Dir, p sys.Proc) (*Proc, error) {
	page, err := d.Page(p, true)
	if err != nil {
		return nil, err
	}
	return WithPage(d, page)
}

// WithPage returns the Proc of a page. It closes the page if it fails.
func WithPage(d *registry.Dir, page *registry.Page) (*Proc, error) {
	names, err := conn.OpenNames(d, page.Family())
	if err != nil {
		page.Close()
		return nil, err
	}
	return &Proc{Dir: d, Page: page, Names: names}, nil
}

// EventID returns the id of a name, and registers a new name for the process.
func (p *Proc) EventID(name string) (event.ID, error) {
	id, _, err := p.Names.Open(name, false, &registry.Quota{
		Left: func() bool {
			p.Page.Renew()
			return p.Page.AddUserNames(0) < event.UserMax-1 // the unnamed event is one more type
		},
		Use: func() { p.Page.AddUserNames(1) },
	})
	return id, err
}

// release removes the process from its streams: it has become a set-gid or set-uid program, which
// only a privileged controller may trace (INH-16), and the controllers of this directory are not.
// It reports whether it succeeded without waiting for a lock.
func (p *Proc) release() bool {
	list := p.Page.Entries()
	if len(list) == 0 {
		return true
	}
	unlock, err := p.Dir.TryLock()
	if err != nil {
		return false
	}
	defer unlock()
	for _, e := range list {
		p.Page.Detach(e.Stream)
	}
	return true
}

// InheritByName attaches the process to the stream that $PTRACE_STREAM names, if children inherit
// that stream. It works also if the parents of the process have ended.
func InheritByName(p *Proc) error {
	path := os.Getenv("PTRACE_STREAM")
	if path == "" || path[0] != '/' {
		return nil
	}
	id, ok := registry.StreamIDOfPath(path)
	if !ok {
		return nil
	}
	for _, e := range p.Page.Entries() {
		if e.Stream == id {
			return nil
		}
	}
	c, err := conn.OpenPath(path)
	if err != nil {
		return err
	}
	defer c.Release()
	if !c.Mem.Inheritance || c.Dir.Path() != p.Dir.Path() || c.Dead() ||
		c.Mem.CreatedTick() > p.Page.Proc().Start {
		return nil
	}
	if len(p.Page.Entries()) == 0 && p.Page.SetFamily(c.Mem.Family()) == nil {
		p.Names.Close()
		if n, err := conn.OpenNames(p.Dir, p.Page.Family()); err == nil {
			p.Names = n
		}
	}
	if err := p.Page.AttachSelf(id, registry.Self|registry.Inherit); err != nil {
		return err
	}
	if c.Dead() {
		// The shutdown may have passed this page already.
		if unlock, err := p.Dir.TryLock(); err == nil {
			p.Page.Detach(id)
			unlock()
		}
	}
	return nil
}
