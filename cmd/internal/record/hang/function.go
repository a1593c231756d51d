//go:build linux

package hang

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// byFunction finds what can be known by the kernel's function that the thread sleeps in: its call says nothing,
// or cannot be read, as ptrace(2) is not permitted. Of several descriptors that the wait may be for, all are
// looked at, and none is named.
func (t *thread) byFunction() end {
	function, _, _ := strings.Cut(t.Wait, ".")     // the compiler makes variants: "x.isra.0"
	ring := strings.HasPrefix(t.seen.Name, "iou-") // a worker of io_uring(7), whose files may have no descriptor
	if t.name == "" && !ring {
		is, known := t.p.implied[function] // of all its threads: the function says no more of one
		if !known {
			if t.p.implied == nil {
				t.p.implied = map[string]implied{}
			}
			is.end, is.ok = t.implied(function)
			is.kind, is.apart = t.Kind, t.apart
			t.p.implied[function] = is
		}
		if is.ok {
			t.Kind, t.apart = is.kind, is.apart
			return is.end
		}
	}
	switch {
	case strings.HasPrefix(function, "request_wait_answer"), strings.HasPrefix(function, "fuse_"):
		return end{text: "an answer of a file system in user space (FUSE)", unseen: true, known: true}
	case t.State == 'D' && t.Wait != "":
		e := end{text: "the kernel, in " + t.Wait, unseen: true, known: true}
		if m, ok := t.mounted(); ok {
			e.text += ", for " + m.String()
		}
		return e
	}
	return end{unseen: true}
}

// implied is what a function of the kernel implies of the threads of a process.
type implied struct {
	end   end
	ok    bool
	kind  Kind
	apart bool
}

// implied returns what a function of the kernel implies, by its names in Linux 4.x to 6.x. Another one implies
// nothing.
func (t *thread) implied(function string) (e end, ok bool) {
	unknown := func(text string) (end, bool) { return end{text: text, unseen: true, known: true}, true }
	switch function {
	case "do_wait", "kernel_wait4":
		return t.family("the end of"), true
	case "kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done":
		return t.family("its child to execute a program or end:"), true
	case "pipe_read", "anon_pipe_read", "fifo_pipe_read", "pipe_wait_readable":
		return t.oneOf("pipes", t.files(func(f file) bool { return f.is(unix.S_IFIFO) && f.opened(forReading) }), forReading), true
	case "pipe_write", "anon_pipe_write", "fifo_pipe_write", "pipe_wait_writable":
		return t.oneOf("pipes", t.files(func(f file) bool { return f.is(unix.S_IFIFO) && f.opened(forWriting) }), forWriting), true
	case "wait_for_partner", "fifo_open":
		return unknown("a process that opens the other end of a FIFO")
	case "locks_lock_inode_wait", "flock_lock_inode_wait", "posix_lock_inode_wait", "fcntl_setlk", "fcntl_setlk64", "do_lock_file_wait":
		return t.anyLock(), true
	case "futex_do_wait", "futex_wait", "futex_wait_queue", "futex_wait_queue_me", "futex_wait_multiple", "futex_wait_requeue_pi", "futex_lock_pi":
		return unknown("a futex")
	case "hrtimer_nanosleep", "do_nanosleep", "common_nsleep", "common_nsleep_timens":
		t.Kind = Sleeps
		return end{unseen: true}, true
	case "sigsuspend", "do_sigtimedwait", "__do_sys_pause", "__se_sys_pause", "sys_pause", "signalfd_read", "signalfd_read_iter", "signalfd_dequeue":
		return unknown("a signal")
	case "do_poll", "do_sys_poll", "do_select", "core_sys_select", "poll_schedule_timeout":
		return unknown("one of several descriptors, perhaps for a limited time")
	case "ep_poll", "do_epoll_wait":
		e = t.oneOf("sets of descriptors", t.files(func(f file) bool { return f.link == "anon_inode:[eventpoll]" }), forReading)
		e.unseen = true // its time may be limited
		return e, true
	case "eventfd_read", "timerfd_read", "timerfd_read_iter", "do_wait_intr", "do_wait_intr_irq":
		return t.oneOf("descriptors", t.files(func(f file) bool {
			return f.link == "anon_inode:[eventfd]" || f.link == "anon_inode:[timerfd]" || f.device()
		}), forReading), true
	case "inotify_read":
		return unknown("a change of files")
	case "inet_csk_accept", "inet_csk_wait_for_connect":
		return t.oneOf("sockets", t.files(func(f file) bool { return f.is(unix.S_IFSOCK) && t.tcp(f).listens }), forReading), true
	case "unix_stream_read_generic", "unix_stream_data_wait":
		return t.oneOf("sockets", t.files(func(f file) bool {
			return f.is(unix.S_IFSOCK) && t.unix(f) && t.w.peers[f.inode()] != 0
		}), forReading), true
	case "__skb_wait_for_more_packets", "__skb_recv_datagram", "sock_alloc_send_pskb", "unix_wait_for_peer":
		return t.oneOf("sockets", t.files(func(f file) bool { return f.is(unix.S_IFSOCK) && t.tcp(f).local == "" }), forReading), true
	case "sk_wait_data", "sk_stream_wait_memory":
		return t.oneOf("sockets", t.files(func(f file) bool { return f.is(unix.S_IFSOCK) && !t.unix(f) && !t.tcp(f).listens }), forReading), true
	case "n_tty_read", "n_tty_write", "wait_woken": // the last one is also that of sockets
		e = t.oneOf("descriptors", t.files(func(f file) bool {
			return f.device() || function == "wait_woken" && f.is(unix.S_IFSOCK) && !t.unix(f) && !t.tcp(f).listens
		}), forReading)
		if function != "n_tty_read" {
			e.text = strings.Replace(e.text, "input from the terminal", "input from or output to the terminal", 1)
		}
		return e, true
	}
	return end{}, false
}

// family is a wait for a child: which one is known if there is one.
func (t *thread) family(text string) end {
	e := t.ends(t.p.children, text)
	if n := len(t.p.children); n > 1 {
		e.text, e.known = "one of its "+strconv.Itoa(n)+" children", true
		t.apart = true
	}
	return e
}

// file is a descriptor of a process and what it refers to.
type file struct {
	descriptor
	link string
	stat unix.Statx_t
}

// is reports whether the file is of a type, such as S_IFIFO.
func (f file) is(kind uint32) bool { return uint32(f.stat.Mode)&unix.S_IFMT == kind }

// device reports whether reading the file may wait as for a terminal: it is no device of memory, such as
// /dev/null.
func (f file) device() bool {
	const memory = 1
	return f.is(unix.S_IFCHR) && f.stat.Rdev_major != memory
}

func (f file) inode() int { return int(f.stat.Ino) }

// unix reports whether the file is a Unix socket.
func (t *thread) unix(f file) bool {
	t.w.unixPeers()
	_, ok := t.w.peers[f.inode()]
	return ok
}

// tcp returns the TCP socket that the file is.
func (t *thread) tcp(f file) tcpSocket { return t.w.tcpTable(t.PID).sockets[f.inode()] }

// files returns the descriptors of the process of the thread for which want is true. A file that several of them
// refer to is there once, a pipe once for each direction.
func (t *thread) files(want func(f file) bool) (list []file) {
	if t.p.files == nil {
		t.p.files = []file{}
		stats, seen := map[string]unix.Statx_t{}, map[string]bool{} // by link
		t.w.hide("descriptors", numbers(procfs.File(t.PID, "fd"), func(n int) {
			if t.w.over() {
				return
			}
			f := file{descriptor: descriptor{t.PID, n}}
			f.link = f.descriptor.link()
			key, known := f.link, false
			if f.stat, known = stats[f.link]; !known && f.link != "" {
				f.stat, _ = f.file()
				stats[f.link] = f.stat
			}
			switch {
			case f.is(unix.S_IFIFO):
				key += strconv.Itoa(int(f.mode()))
			case strings.HasPrefix(f.link, "anon_inode:"), f.link == "": // that does not say which
				key = strconv.Itoa(n)
			}
			if !seen[key] {
				seen[key] = true
				t.p.files = append(t.p.files, f)
			}
		}))
	}
	for _, f := range t.p.files {
		if want(f) {
			list = append(list, f)
		}
	}
	return list
}

// oneOf finds what can end a wait for one of several files. Which one it is, is known if there is one.
func (t *thread) oneOf(what string, list []file, mode uint32) (e end) {
	switch len(list) {
	case 0:
		return end{unseen: true}
	case 1:
		return t.endOf(list[0].fd, mode)
	}
	for _, f := range list[:min(len(list), mostPolled)] {
		one := t.endOf(f.fd, mode)
		e.unseen = e.unseen || one.unseen || len(list) > mostPolled
		e.add(one.on)
	}
	e.text, e.known = "one of its "+strconv.Itoa(len(list))+" "+what, true
	t.apart = true
	return e
}

// anyLock finds the lock of a file that the thread waits for: that of which /proc/locks says so of its process.
func (t *thread) anyLock() end {
	device := func(f file) string {
		return fmt.Sprintf("%02x:%02x:%d", f.stat.Dev_major, f.stat.Dev_minor, f.stat.Ino)
	}
	links := map[string]string{} // by device
	for _, f := range t.files(func(f file) bool { return f.is(unix.S_IFREG) || f.is(unix.S_IFDIR) }) {
		links[device(f)] = f.link
	}
	var want lock
	var link string
	for _, row := range t.w.listLocks() {
		at, open := links[row.device]
		if !row.waits || row.pid != t.PID && !(row.kind == "OFDLCK" && open) {
			continue
		}
		if !open || link != "" && row != want { // it is on another device than stat says, or one of several
			link = ""
			break
		}
		want, link = row, at
	}
	if link == "" {
		return end{text: "a lock of a file", unseen: true, known: true}
	}
	return t.lockOf(link, want, true)
}
