package conn

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Each calls f for every active stream of the user, and orphan for every one whose owner is dead. f releases
// the connection or keeps it. For streams of other versions, Each calls foreign.
func Each(f func(c *Conn) error, orphan func(c *Conn), foreign func(d *registry.Dir, id uint64)) error {
	d, err := OpenDir()
	if err != nil {
		return err
	}
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := Open(d, id)
		if errors.Is(err, stream.ErrFormat) {
			discard(d, id)
		}
		if errors.Is(err, stream.ErrForeign) {
			foreign(d, id)
		}
		if err != nil {
			continue // removed meanwhile, or not a stream
		}
		if c.Dead() || c.Orphaned() {
			orphan(c)
			c.Release()
			continue
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the rest of a stream whose file was truncated or overwritten, which no process can
// attach to.
func discard(d *registry.Dir, id uint64) {
	unlock, err := d.Lock()
	if err != nil {
		return
	}
	defer unlock()
	d.DetachAll(id)
	d.RemoveStream(id)
}

// StaleStreams returns the streams that ended processes have left behind, oldest first.
func StaleStreams(d *registry.Dir) (list []*Conn) {
	ids, err := d.StreamIDs()
	if err != nil {
		return nil
	}
	for _, id := range ids {
		c, err := Open(d, id)
		switch {
		case err != nil:
		case c.Stale() && !c.Dead():
			list = append(list, c)
		default:
			c.Release()
		}
	}
	slices.SortFunc(list, older)
	return list
}

// older compares streams by the time of their creation.
func older(a, b *Conn) int { return a.Mem.Created().Compare(b.Mem.Created()) }

// TidyDue reports whether the next create call tidies the directory up. most is the most streams that may be
// active.
func TidyDue(d *registry.Dir, most int) bool {
	ids, err := d.StreamIDs()
	return err == nil && due(len(ids), most)
}

// due reports that, of so many streams, one more is a reason to tidy up.
func due(streams, most int) bool { return streams >= most || streams%(most/8) == 0 }

// Tidy makes sure that one more stream can be active, of most. At times, and always if tidy is set, it also
// removes stale files of the trace directory. If tidy is set, and there are too many streams, it calls shutdown
// for stale ones. The caller holds the directory's lock.
func Tidy(d *registry.Dir, most int, tidy bool, shutdown func(*Conn) error) error {
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	if !tidy && !due(len(ids), most) {
		return nil
	}
	live := 0
	known := true // keep and families are complete
	var stale []*Conn
	keep := make(map[uint64]bool)
	families := make(map[uint64]bool)
	for _, id := range ids {
		c, err := Open(d, id)
		switch {
		case errors.Is(err, stream.ErrFormat):
			d.RemoveStream(id)
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil: // the stream may be active
			live++
			known = false
			continue
		}
		live++
		keep[id], families[c.Mem.Family()] = true, true
		if c.Stale() && tidy {
			stale = append(stale, c)
		} else {
			c.Release()
		}
	}
	slices.SortFunc(stale, older)
	for _, c := range stale {
		if live >= most && shutdown(c) == nil {
			live--
		}
		c.Release()
	}
	if known {
		d.Sweep(func(id uint64) bool { return keep[id] }, families)
	}
	if live >= most {
		return fmt.Errorf("%d streams are active: %w", most, syscall.EAGAIN)
	}
	return nil
}

var errNameInUse = sys.Wrap("an active stream has this name", syscall.EEXIST)

// NameFree fails if an active stream has the name. Stale streams do not count. The caller holds the
// directory's lock until it has published its own stream.
func NameFree(d *registry.Dir, name string) error {
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := Open(d, id)
		if err != nil {
			continue // removed meanwhile, or not a stream
		}
		taken := c.Mem.Name == name && !c.Dead() && !c.Orphaned() && !c.Stale()
		c.Release()
		if taken {
			return errNameInUse
		}
	}
	return nil
}

// EnsureEntry makes sure that a process's page has room for one more stream, of most. The caller holds the
// directory's lock.
func EnsureEntry(d *registry.Dir, page *registry.Page, most int) error {
	if len(page.Entries()) < most {
		return nil
	}
	// Some entries may be those of removed streams.
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, e := range page.Entries() {
		if _, there := slices.BinarySearch(ids, e.Stream); !there {
			page.Detach(e.Stream)
		}
	}
	if len(page.Entries()) >= most {
		return fmt.Errorf("%d streams trace the process: %w", most, syscall.EAGAIN)
	}
	return nil
}
