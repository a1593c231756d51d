//go:build linux

package hang

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lock is a row of /proc/locks.
type lock struct {
	waits  bool
	kind   string // FLOCK, POSIX, OFDLCK
	pid    int    // of the process that asked for the lock: it may have ended; -1: none is known
	device string // MAJOR:MINOR:INODE
}

func (w *world) listLocks() []lock {
	if w.read {
		return w.locks
	}
	w.read = true
	b, err := os.ReadFile("/proc/locks")
	w.hide("locks", err)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		var l lock
		if len(f) > 1 && f[1] == "->" {
			l.waits = true
			f = slices.Delete(f, 1, 2)
		}
		if len(f) < 6 {
			continue
		}
		l.kind, l.device = f[1], f[5]
		l.pid, _ = strconv.Atoi(f[4])
		w.locks = append(w.locks, l)
	}
	return w.locks
}

// lockEnd finds the holders of the lock that the thread waits for. fdinfo says which descriptors hold it: the
// process that took a lock of flock(2) may have ended and left it to its children, and /proc/locks names it
// still.
func (t *thread) lockEnd(fd int) (e end) {
	d := descriptor{t.PID, fd}
	var st unix.Stat_t
	if unix.Stat(d.path(), &st) != nil {
		return end{unseen: true}
	}
	at := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for _, l := range t.w.listLocks() {
		if l.waits && l.pid == t.PID { // which knows the device where stat has another, as on btrfs
			at = l.device
		}
	}
	link := d.link()
	e.text = "the lock of " + link + ", which is held by"
	t.w.listDescriptors()
	own := false
	for _, h := range t.w.open[link] {
		v := h.info("lock")
		if !strings.Contains(v, " "+at+" ") || h.pid == t.PID && strings.Contains(v, "POSIX") {
			continue
		}
		own = own || h.pid == t.PID
		for _, o := range t.w.load(t.w.processes[h.pid]) {
			if !slices.Contains(e.on, o) {
				e.on = append(e.on, o)
			}
		}
	}
	if own && len(e.on) == len(t.p.threads) {
		e.text = "the lock of " + link + ", which it holds by another descriptor"
		e.known = true
		return e
	}
	if len(e.on) == 0 {
		e.text, e.unseen, e.known = "the lock of "+link, true, true
	}
	return e
}
