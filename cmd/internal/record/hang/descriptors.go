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
func (d descriptor) link() string { return readlink(d.path()) }

func readlink(path string) string {
	var b [unix.PathMax]byte
	n, err := unix.Readlink(path, b[:])
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

// mode returns what the descriptor is open for, 0 if that cannot be seen.
func (d descriptor) mode() uint32 {
	var st unix.Stat_t
	if unix.Lstat(d.path(), &st) != nil {
		return 0
	}
	return st.Mode & (forReading | forWriting)
}

// file returns the type and the identity of the file that the descriptor refers to, as the kernel has them: the
// file system is not asked, since it may be what the process waits for, and may never answer.
func (d descriptor) file() (st unix.Statx_t, ok bool) {
	const want = unix.STATX_TYPE | unix.STATX_INO
	err := unix.Statx(unix.AT_FDCWD, d.path(), unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, want, &st)
	return st, err == nil && st.Mask&want == want
}

// opened reports whether the descriptor is open for reading or for writing.
func (d descriptor) opened(mode uint32) bool { return d.mode()&mode != 0 }

// fdinfo reads what the kernel says of the descriptor.
func (d descriptor) fdinfo() []byte {
	b, err := whole(d.pid, "fdinfo/"+strconv.Itoa(d.fd))
	if err != nil {
		return nil
	}
	return b
}

// info returns the value of the first field of a name in fdinfo, "" if there is none.
func (d descriptor) info(field string) string {
	b := d.fdinfo()
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
		if w.over() {
			break
		}
		if s := w.processes[pid].state; s == 'Z' || s == 'X' {
			continue
		}
		dir, err := unix.Open(procfs.File(pid, "fd"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			w.hide("descriptors", err)
			w.refused = w.refused || w.processes[pid].inTree && err != unix.ENOENT && err != unix.ESRCH
			continue
		}
		numbers(procfs.File(pid, "fd"), func(fd int) {
			if n, err := unix.Readlinkat(dir, strconv.Itoa(fd), b); err == nil && n < len(b) {
				w.open[string(b[:n])] = append(w.open[string(b[:n])], descriptor{pid, fd})
			}
		})
		unix.Close(dir)
	}
	w.refused = w.refused || w.grown()
}

// end is the other end of a descriptor: what can end the wait for it.
type end struct {
	text   string    // "the writer of pipe:[7]", without the holders
	on     []*thread // the threads of the holders
	unseen bool      // something that cannot be seen may end the wait
	known  bool      // text says it all: there are no holders
	of     []end     // any of these, if it is more than one
	count  int       // of the descriptors that of has
	or     string    // what else ends the wait
	child  *thread   // whose end does
}

// add adds threads that can end the wait, each once.
func (e *end) add(list []*thread) {
	if len(e.on) == 0 {
		e.on = list[:len(list):len(list)]
		return
	}
	have := make(map[*thread]bool, len(e.on))
	for _, t := range e.on {
		have[t] = true
	}
	for _, t := range list {
		if !have[t] {
			have[t] = true
			e.on = append(e.on, t)
		}
	}
}

// holding is what processes may have open: see holders.
type holding struct {
	key          string
	mode         uint32
	field, value string
}

// holders adds the threads of processes that have what key names open in a mode, with a value of a field of
// fdinfo unless field is "". A process of the tree whose descriptors cannot be seen may have it, too.
func (e *end) holders(w *world, key string, mode uint32, field, value string) {
	w.listDescriptors()
	e.unseen = e.unseen || w.refused
	what := holding{key, mode, field, value}
	list, ok := w.held[what]
	if !ok { // many threads may wait for the same
		seen := map[int]bool{}
		for _, d := range w.open[key] {
			if !seen[d.pid] && (mode == 0 || d.opened(mode)) && (field == "" || d.info(field) == value) {
				seen[d.pid] = true
				list = append(list, w.load(w.processes[d.pid])...)
			}
		}
		if w.held == nil {
			w.held = map[holding][]*thread{}
		}
		w.held[what] = list
	}
	e.add(list)
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
			e.unseen = e.unseen || len(e.on) == 0
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
	case link == "/dev/fuse":
		return end{text: "a request to the file system that it serves", unseen: true, known: true}
	case link == "anon_inode:[eventpoll]":
		return t.several(epollSet(d))
	}
	st, ok := d.file()
	if !ok {
		return end{unseen: true}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return t.pipe(d, link, mode)
	case unix.S_IFCHR:
		return t.terminal(d, link, unix.Mkdev(st.Rdev_major, st.Rdev_minor))
	}
	return t.byFunction()
}

// pipe finds the other end of a pipe or FIFO. A poll may name modes for which the descriptor is not open, or
// none: what it is open for counts.
func (t *thread) pipe(d descriptor, link string, mode uint32) (e end) {
	open := d.mode()
	if mode&open != 0 {
		open &= mode
	}
	role, other := "the other end", uint32(0)
	switch open {
	case forReading:
		role, other = "the writer", forWriting
	case forWriting:
		role, other = "the reader", forReading
	}
	e.text = role + " of " + link
	if open&forReading != 0 && t.jobServer(d) { // all jobs hold both ends: none of them says more
		e.text, e.known = "a token of make's job server, "+link+": none is left", true
	}
	e.holders(t.w, link, other, "", "")
	e.unseen = e.unseen || len(e.on) == 0
	return e
}

// jobServer reports whether a descriptor is that of make's job server.
func (t *thread) jobServer(d descriptor) bool {
	auth := t.p.makeAuth()
	if path, ok := strings.CutPrefix(auth, "fifo:"); ok {
		return d.link() == path
	}
	in, _, _ := strings.Cut(auth, ",")
	return in == strconv.Itoa(d.fd)
}

// makeAuth returns what make's flags in the environment of a process say of the job server: "R,W" or
// "fifo:PATH"; "" if there is none.
func (p *process) makeAuth() string {
	if p.auth != nil {
		return *p.auth
	}
	p.auth = new(string)
	b, err := whole(p.pid, "environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		flags, _ := bytes.CutPrefix(v, []byte("MAKEFLAGS="))
		if len(flags) == len(v) {
			continue
		}
		for _, f := range strings.Fields(string(flags)) {
			for _, name := range []string{"--jobserver-auth=", "--jobserver-fds="} {
				if auth, ok := strings.CutPrefix(f, name); ok {
					*p.auth = auth
				}
			}
		}
		break
	}
	return *p.auth
}

// terminal finds the process that holds the other side of a terminal.
func (t *thread) terminal(d descriptor, link string, device uint64) (e end) {
	if link == "/dev/ptmx" || link == "/dev/pts/ptmx" {
		n := d.info("tty-index")
		e.text = "the program at the terminal /dev/pts/" + n + ","
		e.holders(t.w, "/dev/pts/"+n, 0, "", "")
		e.unseen = e.unseen || len(e.on) == 0
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
