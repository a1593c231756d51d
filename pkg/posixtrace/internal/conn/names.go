package conn

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// OpenNames opens the names of a family. A new name passes the filters of the family's streams
// before any process can use it.
func OpenNames(d *registry.Dir, family uint64) (*registry.Names, error) {
	n, err := d.Names(family)
	if err != nil {
		return nil, err
	}
	n.BeforePublish(func(id event.ID, name string) { applyPatterns(d, family, id, name) })
	return n, nil
}

// OpenSystemNames opens the names of system event types, in the order of list, and adds new ones. names
// are those of the family.
func OpenSystemNames(names *registry.Names, d *registry.Dir, family uint64, list []string) ([]event.ID, error) {
	// Open the family's streams once for all names: there may be hundreds of names and a few streams.
	var conns []*Conn
	opened := false
	names.BeforePublish(func(id event.ID, name string) {
		if !opened { // under the lock of the names: later streams have no patterns yet
			conns, opened = familyStreams(d, family), true
		}
		for _, c := range conns {
			c.Mem.Decide(id, name)
		}
	})
	defer func() {
		names.BeforePublish(func(id event.ID, name string) { applyPatterns(d, family, id, name) })
		for _, c := range conns {
			c.Release()
		}
	}()
	return names.OpenSystem(list)
}

// applyPatterns applies the patterns of all streams of a family to a new event type.
func applyPatterns(d *registry.Dir, family uint64, id event.ID, name string) {
	for _, c := range familyStreams(d, family) {
		c.Mem.Decide(id, name)
		c.Release()
	}
}

// familyStreams opens the streams that use the names of a family.
func familyStreams(d *registry.Dir, family uint64) (conns []*Conn) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil
	}
	for _, sid := range ids {
		c, err := Open(d, sid)
		switch {
		case err != nil:
		case c.Mem.Family() != family:
			c.Release()
		default:
			conns = append(conns, c)
		}
	}
	return conns
}
