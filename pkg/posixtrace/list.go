package posixtrace

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// StreamInfo describes an active stream in a list. Extension.
type StreamInfo struct {
	Name       string
	Path       string // of the stream's file
	PID        int    // the traced process; 0 if there is none yet
	Owner      int    // the process whose death shuts the stream down
	LogPath    string // "" without log
	Status     RunStatus
	Full       FullStatus
	CreateTime time.Time
	Stale      bool // handed over without log, and the new owner has ended: see Stream.Handover
}

// List returns the active streams of the user, oldest first. It shuts down streams of dead owners
// and completes their logs. List is safe for concurrent use. Errors: those of the trace directory
// (ErrDirectory). Extension.
func List() ([]StreamInfo, error) {
	var list []StreamInfo
	err := eachStream(func(c *conn) error {
		list = append(list, c.info())
		c.release()
		return nil
	})
	slices.SortFunc(list, func(a, b StreamInfo) int {
		if n := a.CreateTime.Compare(b.CreateTime); n != 0 {
			return n
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list, fail("List", err, syscall.EIO)
}

// eachStream calls f for every active stream of the user, and shuts down streams of dead owners. f
// releases the connection or keeps it.
func eachStream(f func(c *conn) error) error {
	d, err := openDir()
	if err != nil {
		return err
	}
	ids, err := d.StreamIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := openStream(d, id)
		if errors.Is(err, stream.ErrFormat) {
			discard(d, id)
		}
		if err != nil {
			continue // removed meanwhile, or not a stream
		}
		if c.dead() || c.orphaned() {
			// If the log cannot be completed now, for example on a full disk, a later call retries.
			shutdownOrphan(c, false)
			c.release()
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
