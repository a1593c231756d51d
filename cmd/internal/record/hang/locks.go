//go:build linux

package hang

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// lock is a row of /proc/locks, or of fdinfo.
type lock struct {
	waits       bool
	kind        string // FLOCK, POSIX, OFDLCK
	shared      bool
	pid         int    // of the process that asked for the lock: it may have ended; -1: none is known
	device      string // MAJOR:MINOR:INODE
	first, last uint64 // bytes
}

// parseLock reads a row: "1: -> POSIX  ADVISORY  WRITE 71 08:01:99 0 EOF".
func parseLock(line string) (l lock, ok bool) {
	f := strings.Fields(line)
	if len(f) > 1 && f[1] == "->" {
		l.waits = true
		f = slices.Delete(f, 1, 2)
	}
	if len(f) < 8 {
		return l, false
	}
	l.kind, l.shared, l.device = f[1], f[3] == "READ", f[5]
	l.pid, _ = strconv.Atoi(f[4])
	l.first, _ = strconv.ParseUint(f[6], 10, 64)
	l.last = math.MaxUint64
	if f[7] != "EOF" {
		l.last, _ = strconv.ParseUint(f[7], 10, 64)
	}
	return l, true
}

// against reports whether one of the locks keeps the other from being taken.
func (l lock) against(o lock) bool {
	return l.device == o.device && (l.kind == "FLOCK") == (o.kind == "FLOCK") && !(l.shared && o.shared) &&
		l.first <= o.last && o.first <= l.last
}

func (w *world) listLocks() []lock {
	if w.read {
		return w.locks
	}
	w.read = true
	b, err := os.ReadFile("/proc/locks")
	w.hide("locks", err)
	for line := range strings.Lines(string(b)) {
		if l, ok := parseLock(line); ok {
			w.locks = append(w.locks, l)
		}
	}
	return w.locks
}

// locks returns the locks that a descriptor holds.
func (d descriptor) locks() (list []lock) {
	for line := range strings.Lines(string(d.fdinfo())) {
		if row, ok := strings.CutPrefix(line, "lock:"); ok {
			if l, ok := parseLock(row); ok {
				list = append(list, l)
			}
		}
	}
	return list
}

// wait is a lock of a file that a process waits for.
type wait struct {
	file string
	lock lock
}

// against returns the threads of the processes that hold what keeps a lock of a file from being taken. It
// finds them once: many threads may wait for one lock.
func (w *world) against(file string, want lock) (list []*thread) {
	if want.kind != "POSIX" { // else its own locks of this kind are not in the way
		want.pid = 0
	}
	list, ok := w.holds[wait{file, want}]
	if ok {
		return list
	}
	w.listDescriptors()
	for _, h := range w.open[file] {
		if len(list) > 0 && list[len(list)-1].PID == h.pid {
			continue
		}
		if slices.ContainsFunc(h.locks(), func(l lock) bool { return want.against(l) && (h.pid != want.pid || l.kind != "POSIX") }) {
			list = append(list, w.load(w.processes[h.pid])...)
		}
	}
	if w.holds == nil {
		w.holds = map[wait][]*thread{}
	}
	w.holds[wait{file, want}] = list
	return list
}

// wanted returns the lock that the thread waits for. known is false if several rows of /proc/locks may be
// that, as its process waits for several, or none: it is then any lock of the file.
func (t *thread) wanted(d descriptor) (l lock, known bool) {
	st, _ := d.file()
	l = lock{kind: "FLOCK", pid: t.PID, last: math.MaxUint64,
		device: fmt.Sprintf("%02x:%02x:%d", st.Dev_major, st.Dev_minor, st.Ino)}
	if t.name == "fcntl" {
		l.kind = "POSIX"
	}
	var of, here []lock
	for _, row := range t.w.listLocks() {
		own := row.pid == t.PID || row.kind == "OFDLCK" && row.device == l.device
		if row.waits && own && (row.kind == "FLOCK") == (l.kind == "FLOCK") {
			if of = append(of, row); row.device == l.device {
				here = append(here, row)
			}
		}
	}
	if len(here) == 0 { // stat and the lock have different devices, as on btrfs
		here = of
	}
	if len(here) == 1 || len(here) > 1 && !slices.ContainsFunc(here, func(row lock) bool { return row != here[0] }) {
		return here[0], true
	}
	return l, false
}

// lockEnd finds the holders of the lock that the thread waits for. fdinfo says which descriptors hold it: the
// process that took a lock of flock(2) may have ended and left it to its children, and /proc/locks names it
// still.
func (t *thread) lockEnd(fd int) end {
	d := descriptor{t.PID, fd}
	link := d.link()
	if link == "" {
		return end{unseen: true}
	}
	want, known := t.wanted(d)
	return t.lockOf(link, want, known)
}

// lockOf finds the holders of a lock of a file. Whether it is the lock that the thread waits for may not be known.
func (t *thread) lockOf(link string, want lock, known bool) (e end) {
	e.text = "the lock of " + link + ", which is held by"
	t.w.listDescriptors() // which says what is refused
	e.unseen = t.w.refused || !known
	if e.on = t.w.against(link, want); len(e.on) > 0 && !slices.ContainsFunc(e.on, func(o *thread) bool { return o.PID != t.PID }) {
		e.text = "the lock of " + link + ", which it holds by another descriptor"
		e.known = true
		return e
	}
	if len(e.on) == 0 {
		e.text, e.unseen, e.known = "the lock of "+link, true, true
	}
	return e
}
