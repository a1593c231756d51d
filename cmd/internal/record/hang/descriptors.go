//go:build linux

package hang

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// descriptor is a descriptor of a process.
type descriptor struct{ pid, fd int }

func (d descriptor) path() string { return procfs.File(d.pid, "fd/") + strconv.Itoa(d.fd) }

// link returns what a descriptor refers to, as /proc shows it; "" if that cannot be read.
func (d descriptor) link() string {
	var b [unix.PathMax]byte
	n, err := unix.Readlink(d.path(), b[:])
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// The permissions of the link of a descriptor say what it is open for.
const (
	forReading = 0o400
	forWriting = 0o200
)

// opened reports whether the descriptor is open for reading or for writing.
func (d descriptor) opened(mode uint32) bool {
	var st unix.Stat_t
	return unix.Lstat(d.path(), &st) == nil && st.Mode&mode != 0
}

// info returns the value of a field of fdinfo, "" if there is none.
func (d descriptor) info(field string) string {
	b, err := procfs.Read(d.pid, "fdinfo/"+strconv.Itoa(d.fd))
	if err != nil {
		return ""
	}
	_, rest, ok := bytes.Cut(append([]byte{'\n'}, b...), []byte("\n"+field+":"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	return string(bytes.TrimSpace(line))
}

// listDescriptors lists the descriptors of all processes, once.
func (w *world) listDescriptors() {
	if w.open != nil {
		return
	}
	w.open = map[string][]descriptor{}
	pids := make([]int, 0, len(w.processes))
	for pid := range w.processes {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	b := make([]byte, 256)
	for _, pid := range pids {
		if s := w.processes[pid].state; s == 'Z' || s == 'X' {
			continue
		}
		dir, err := unix.Open(procfs.File(pid, "fd"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			w.hide("descriptors", err)
			continue
		}
		numbers(procfs.File(pid, "fd"), func(fd int) {
			if n, err := unix.Readlinkat(dir, strconv.Itoa(fd), b); err == nil && n < len(b) {
				w.open[string(b[:n])] = append(w.open[string(b[:n])], descriptor{pid, fd})
			}
		})
		unix.Close(dir)
	}
}

// end is the other end of a descriptor: what can end the wait for it.
type end struct {
	text   string    // "the writer of pipe:[7]", without the holders
	on     []*thread // the threads of the holders
	unseen bool      // something that cannot be seen may end the wait
	known  bool      // text says it all: there are no holders
}

// holders adds the threads of processes that have what key names open in a mode, with a value of a field of
// fdinfo unless field is "".
func (e *end) holders(w *world, key string, mode uint32, field, value string) {
	w.listDescriptors()
	for _, d := range w.open[key] {
		if (mode == 0 || d.opened(mode)) && (field == "" || d.info(field) == value) {
			for _, t := range w.load(w.processes[d.pid]) {
				if !slices.Contains(e.on, t) {
					e.on = append(e.on, t)
				}
			}
		}
	}
}

// endOf finds the other end of a descriptor of the thread. mode is that of the wait: to read or to write.
func (t *thread) endOf(fd int, mode uint32) (e end) {
	d := descriptor{t.PID, fd}
	link := d.link()
	switch {
	case link == "":
		return end{unseen: true}
	case strings.HasPrefix(link, "socket:["):
		return t.socket(fd, link)
	case link == "anon_inode:[eventfd]":
		id := d.info("eventfd-id")
		e = end{text: "a write to eventfd " + id + " by"}
		if id == "" {
			e.unseen = true
		} else {
			e.holders(t.w, link, 0, "eventfd-id", id)
		}
		return e
	case link == "anon_inode:[pidfd]":
		pid, _ := strconv.Atoi(d.info("Pid"))
		e = end{text: "the end of", on: slices.Clone(t.w.load(t.w.processes[pid]))}
		e.unseen = len(e.on) == 0
		return e
	case link == "anon_inode:[timerfd]":
		return end{text: "a timer", unseen: true, known: true}
	case link == "anon_inode:[signalfd]":
		return end{text: "a signal", unseen: true, known: true}
	case strings.Contains(link, "inotify"), strings.Contains(link, "fanotify"):
		return end{text: "a change of files", unseen: true, known: true}
	case link == "anon_inode:[eventpoll]":
		return t.several(epollSet(d), forReading)
	}
	var st unix.Stat_t
	if unix.Stat(d.path(), &st) != nil {
		return end{unseen: true}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return t.pipe(d, link, mode)
	case unix.S_IFCHR:
		return t.terminal(d, link, uint64(st.Rdev))
	}
	return end{unseen: true}
}

// pipe finds the other end of a pipe or FIFO.
func (t *thread) pipe(d descriptor, link string, mode uint32) (e end) {
	role, other := "the writer", uint32(forWriting)
	if mode == forWriting {
		role, other = "the reader", forReading
	}
	e.text = role + " of " + link
	if mode == forReading && t.jobServer(d) {
		e.text = "a token of make's job server, " + link + ", from"
	}
	e.holders(t.w, link, other, "", "")
	e.unseen = len(e.on) == 0
	return e
}

// jobServer reports whether a descriptor is that of make's job server.
func (t *thread) jobServer(d descriptor) bool {
	b, err := procfs.Read(d.pid, "environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		flags, ok := bytes.CutPrefix(v, []byte("MAKEFLAGS="))
		if !ok {
			continue
		}
		for _, f := range strings.Fields(string(flags)) {
			for _, name := range []string{"--jobserver-auth=", "--jobserver-fds="} {
				if auth, ok := strings.CutPrefix(f, name); ok {
					if path, ok := strings.CutPrefix(auth, "fifo:"); ok {
						return d.link() == path
					}
					in, _, _ := strings.Cut(auth, ",")
					return in == strconv.Itoa(d.fd)
				}
			}
		}
	}
	return false
}

// terminal finds the process that holds the other side of a terminal.
func (t *thread) terminal(d descriptor, link string, device uint64) (e end) {
	if link == "/dev/ptmx" || link == "/dev/pts/ptmx" {
		n := d.info("tty-index")
		e.text = "the program at the terminal /dev/pts/" + n + ","
		e.holders(t.w, "/dev/pts/"+n, 0, "", "")
		e.unseen = len(e.on) == 0
		return e
	}
	name := link
	if device == unix.Mkdev(5, 0) { // /dev/tty
		name = t.p.terminal()
	}
	n, pts := strings.CutPrefix(name, "/dev/pts/")
	if !pts && !strings.HasPrefix(name, "/dev/tty") && name != "/dev/console" {
		return end{unseen: true}
	}
	e.text = "input from the terminal " + name
	if pts {
		e.holders(t.w, "/dev/ptmx", 0, "tty-index", n)
		e.holders(t.w, "/dev/pts/ptmx", 0, "tty-index", n)
	}
	if len(e.on) > 0 {
		e.text += ", which is that of"
	}
	e.known = len(e.on) == 0
	e.unseen = true // a person, whom no process shows
	return e
}

// terminal returns the name of the controlling terminal of a process.
func (p *process) terminal() string {
	f := procfs.StatFields(p.pid)
	if len(f) < 5 {
		return "/dev/tty"
	}
	n, _ := strconv.Atoi(f[4])
	major, minor := n>>8&0xfff, n&0xff|n>>12&0xfff00
	if major >= 136 && major <= 143 {
		return "/dev/pts/" + strconv.Itoa((major-136)<<20|minor)
	}
	return "/dev/tty"
}
