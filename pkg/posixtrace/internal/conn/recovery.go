package conn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// RecoverPause is how long a reader, or a flush, waits between two calls of RecoverWriters.
const RecoverPause = 20 * time.Millisecond

// RecoverWriters releases what the writers of a stream hold that have ended. It is the one procedure for
// that: of each shutdown, of a flush that waits in vain for a writer, of readers, and of writers that find
// too few places. The caller holds the stream's lock.
func (c *Conn) RecoverWriters() { c.recoverBy(c.File) }

// recoverBy recovers writers through a connection whose descriptor is closed: f is the stream's file.
func (c *Conn) recoverBy(f *os.File) {
	self := sys.SelfProc()
	dead := make(map[sys.Proc]bool)
	c.Mem.RecoverSlots(func(slot uint64, p sys.Proc) bool {
		if p == self {
			return false // SweepSelf knows more
		}
		d, ok := dead[p]
		if !ok {
			d = !p.Alive()
			dead[p] = d
		}
		if d {
			return true
		}
		// A writer that closes gives up the slot first; another one of its process may take it then. That is
		// what the slot, and the second look behind it, are for.
		left := func() bool {
			held, err := sys.FindHeldAs(f, slotHeld+slot)
			return !held && err == nil && c.unmappedBy(p)
		}
		return left() && c.Mem.HasSlot(slot, p) && left()
	})
}

// recoverCrowded recovers writers for a traced process, which keeps no descriptor of the stream. It does not
// wait for the stream's lock.
func (c *Conn) recoverCrowded() {
	f, err := c.Dir.OpenStreamFile(c.ID)
	if err != nil {
		return
	}
	defer f.Close()
	if sys.Flock(f, true, false) != nil {
		return
	}
	defer sys.Funlock(f)
	c.recoverBy(f)
}

// unmappedBy reports whether p, which runs, has the stream no more: it has executed another program. The
// kernel drops the lock of a slot then, too; but a writer may have been refused the lock. unmappedBy returns
// false where it cannot find out.
func (c *Conn) unmappedBy(p sys.Proc) bool {
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(int(p.PID)) + "/maps")
	if err != nil || len(maps) == 0 { // none: the process is ending, or its first thread has ended
		return false
	}
	return !strings.Contains(string(maps), filepath.Base(c.Path)) && p.Alive()
}
