package conn

import (
	"errors"
	"io/fs"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Remove removes the files of a stream that is shut down. locked reports that the caller holds the
// directory's lock, which comes before that of a stream in the order of locks.
func Remove(c *Conn, locked bool) error {
	if c.Dir.Gone() {
		// The stream's file and all pages went with the directory. Processes that have a new page since
		// then copied the entry of the stream.
		pinned.Delete(c.ID)
		d, err := OpenDir()
		if err != nil || locked {
			return nil
		}
		unlock, err := d.Lock()
		if err != nil {
			return nil
		}
		defer unlock()
		d.DetachAll(c.ID)
		return nil
	}
	if !locked {
		unlock, err := c.Dir.Lock()
		if err != nil {
			return err
		}
		defer unlock()
	}
	pinned.Delete(c.ID)
	c.Dir.DetachAll(c.ID)
	if !c.Cut() {
		// The traced process keeps the file mapped until its next trace point and the garbage
		// collection after it, which may take hours: free the memory now.
		c.Mem.Spare(func(off, n int64) { sys.Punch(c.File, off, n) })
	}
	err := c.Dir.RemoveStream(c.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
