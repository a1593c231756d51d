//go:build linux

package hang

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// explain finds out what the thread waits for.
func (t *thread) explain() {
	if t.w.over() {
		t.giveUp()
		return
	}
	t.Args = t.p.arguments()
	switch {
	case t.State == 'Z' || t.State == 'X':
		t.zombie()
		return
	case t.State == 'T' || t.State == 't':
		t.stopped()
		return
	case t.Kind == Busy:
		t.describe()
		t.live = true
		return
	case t.State == 'R' || t.ran2:
		t.describe()
		t.Kind, t.live = Runs, true
		if t.seen.InCall && t.State != 'R' { // it was woken, and waits again
			t.Kind = Waits
			t.since()
			e := t.end()
			t.waitsFor(e)
			t.alsoFor(e)
			t.live = true
		}
		return
	}
	t.describe()
	t.since()
	e := t.end()
	t.waitsFor(e)
	t.alsoFor(e)
}

func (t *thread) zombie() {
	t.Kind = Zombie
	p := t.w.processes[t.p.parent]
	switch {
	case len(t.p.threads) > 1 && t.TID == t.PID:
		t.For = "its other threads to end"
		t.on = slices.DeleteFunc(slices.Clone(t.p.threads), func(o *thread) bool { return o == t })
	case p != nil:
		t.waitsFor(end{text: "its parent to wait for it:", on: t.w.load(p)})
	default:
		t.live = true
	}
}

func (t *thread) stopped() {
	t.Kind, t.live = Stopped, true
	switch tracer := procfs.Tracer(t.TID); {
	case t.State == 't' && tracer != 0:
		p := t.w.processes[procfs.Of(tracer)]
		t.waitsFor(end{text: "its tracer,", on: t.w.load(p)})
		t.live = true
	case t.p.foreground > 0 && t.p.foreground != t.p.group:
		t.For = "the signal CONT: it is in the background of its terminal"
	default:
		t.For = "the signal CONT"
	}
}

// waitsFor notes what the thread waits for.
func (t *thread) waitsFor(e end) {
	if t.w.over() { // a holder may be missing
		t.giveUp()
		return
	}
	defer func() {
		if t.For != "" && t.seen.Hidden != nil { // the kernel's function says enough
			t.Note = ""
		}
	}()
	t.on = e.on
	t.live = t.live || e.unseen
	if e.known || len(e.on) == 0 {
		e.choose(nil)
		t.For = e.text
		if len(e.on) == 0 && !e.known && e.text != "" {
			t.For = strings.TrimRight(e.text, ",:") + ", which no process has that can be seen"
		}
		return
	}
	o := t.prefer()
	e.choose(o)
	processes := map[int]bool{}
	for _, x := range t.on {
		processes[x.PID] = true
	}
	t.ForPID, t.ForTID = o.PID, o.TID
	by := o.label()
	if o.PID == t.PID && len(processes) == 1 {
		by = "its own process"
		switch {
		case len(t.on) > 1:
		case o == t:
			by = "itself"
		default:
			by = "its own thread " + strconv.Itoa(o.TID)
		}
	}
	switch n := len(processes); {
	case n == 2 && processes[t.PID]:
		by += " or itself"
	case n > 1:
		by += " or " + strconv.Itoa(n-1) + " more"
	}
	sep := ", "
	for _, end := range [...]string{",", ":", " by", " of", " from"} {
		if strings.HasSuffix(e.text, end) {
			sep = " "
		}
	}
	t.For = e.text + sep + by
}

// prefer returns the thread to name among those that can end the wait: one of another process, that does not
// run.
func (t *thread) prefer() *thread {
	best := t.on[0]
	rank := func(o *thread) (n int) {
		if o.PID != t.PID {
			n += 4
		}
		if o.State != 'R' && o.Kind != Busy {
			n += 2
		}
		if o.TID == o.PID {
			n++
		}
		return n
	}
	for _, o := range t.on {
		if rank(o) > rank(best) {
			best = o
		}
	}
	return best
}

// label names the process of a thread: by its command line and pid.
func (t *thread) label() string {
	text := commandLine(t.p.arguments(), t.p.name)
	text += " (pid " + strconv.Itoa(t.PID)
	if t.TID != t.PID {
		text += ", thread " + strconv.Itoa(t.TID)
	}
	return text + ")"
}

// end finds what can end the wait of the thread, by its system call.
func (t *thread) end() end {
	fd := int(int32(t.args[0]))
	name := strings.TrimSuffix(t.name, "_time64")
	if t.asksServer() {
		return t.answer()
	}
	switch name {
	case "":
		return t.byFunction()
	case "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4":
		return t.endOf(fd, forReading)
	case "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "connect":
		return t.endOf(fd, forWriting)
	case "splice", "tee", "sendfile", "copy_file_range":
		return end{unseen: true}
	case "wait4", "waitid":
		return t.children(name)
	case "vfork", "clone", "clone3", "fork":
		return t.ends(t.p.children, "its child to execute a program or end:")
	case "flock":
		return t.lockEnd(fd)
	case "fcntl":
		return t.lockEnd(fd)
	case "nanosleep", "clock_nanosleep":
		return t.sleep(name)
	case "pause", "rt_sigsuspend", "sigsuspend", "rt_sigtimedwait":
		return end{text: "a signal", unseen: true, known: true}
	case "open", "openat", "openat2":
		return t.fifo(name)
	case "poll", "ppoll":
		limit := time.Duration(int32(t.args[2])) * time.Millisecond
		if name == "ppoll" {
			limit = t.limit(t.args[2], 1)
		}
		return t.within(t.several(t.pollSet(t.args[0], t.args[1])), limit)
	case "select":
		return t.within(t.several(t.selectSet(t.args[0], t.args[1:4]...)), t.limit(t.args[4], time.Microsecond))
	case "pselect6":
		return t.within(t.several(t.selectSet(t.args[0], t.args[1:4]...)), t.limit(t.args[4], 1))
	case "epoll_wait", "epoll_pwait", "epoll_pwait2":
		limit := time.Duration(int32(t.args[3])) * time.Millisecond
		if name == "epoll_pwait2" {
			limit = t.limit(t.args[3], 1)
		}
		return t.within(t.several(epollSet(descriptor{t.PID, fd})), limit)
	case "futex":
		return t.futex()
	}
	return t.byFunction()
}

// limited is an end of a wait that may have a limit.
func (t *thread) limited(e end, limit bool) end {
	if limit {
		e.unseen = true
		if e.text == "" {
			t.Kind = Sleeps
		}
	}
	return e
}

// ends is a wait for the end of one of several processes.
func (t *thread) ends(list []*process, text string) (e end) {
	e.text = text
	for _, p := range list {
		e.on = append(e.on, t.w.load(p)...)
	}
	if len(e.on) == 0 {
		return end{text: "a child", unseen: true, known: true}
	}
	return e
}

// children is a wait for children. The number in the call is one of the namespace of the process.
func (t *thread) children(name string) end {
	id := int(int32(t.args[0])) // as of waitpid(2): 0 and less than -1 are process groups
	if name == "waitid" {
		switch n := int(int32(t.args[1])); t.args[0] {
		case unix.P_PID:
			id = n
		case unix.P_PIDFD:
			return t.endOf(n, forReading)
		case unix.P_PGID:
			id = -n
		default:
			id = -1
		}
	}
	list := t.p.children
	if id == 0 || id < -1 {
		group := t.p.group
		if id != 0 {
			group = -id
		}
		if id != 0 && t.p.innerPID() != t.PID { // a group of another namespace
			e := t.ends(list, "the end of")
			e.unseen = true
			return e
		}
		list = slices.DeleteFunc(slices.Clone(list), func(c *process) bool { return c.group != group })
	}
	if id > 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(c *process) bool {
			return c.pid != id && c.innerPID() != id || t.p.innerPID() != t.PID && c.innerPID() != id
		})
	}
	return t.ends(list, "the end of")
}

// sleep is a wait for a time.
func (t *thread) sleep(name string) end {
	t.Kind = Sleeps
	at, absolute := t.args[0], false
	if name == "clock_nanosleep" {
		at, absolute = t.args[2], t.args[1]&1 != 0 // TIMER_ABSTIME
	}
	d := t.interval(at, 1)
	if d < 0 {
		return end{unseen: true}
	}
	left := d
	if absolute {
		now, ok := clockNow(int32(t.args[0]))
		if !ok {
			return end{unseen: true}
		}
		left = d - now
	} else if t.Since >= 0 {
		left = d - t.Since
	}
	text := output.Duration(int64(max(left, 0))) + " left"
	if !absolute && t.Since < 0 {
		text = "at most " + text
	}
	return end{text: text, unseen: true, known: true}
}

// fifo is a wait for a process that opens the other end of a FIFO, if the call waits for that.
func (t *thread) fifo(name string) end {
	if !strings.HasPrefix(t.Wait, "wait_for_partner") && !strings.HasPrefix(t.Wait, "fifo_open") {
		return t.byFunction()
	}
	at := t.args[1]
	if name == "open" {
		at = t.args[0]
	}
	path, _, _ := bytes.Cut(t.memory(at, 256), []byte{0})
	if len(path) == 0 {
		return end{text: "a process that opens the other end of a FIFO", unseen: true, known: true}
	}
	return end{text: "a process that opens the other end of the FIFO " + string(path), unseen: true, known: true}
}
