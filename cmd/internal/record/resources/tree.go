package resources

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// tick is the unit of times in /proc: sysconf(_SC_CLK_TCK) is 100 on every architecture of Linux.
const tick = time.Second / 100

// member is a process of the tree.
type member struct {
	posixtrace.ResProcess
	start      uint64 // identifies it, with the pid
	children   time.Duration
	unreadable bool // its /proc/PID/io is another user's
	seen       bool // in this look
}

// Tree is the processes at and below a root. A process stays in it when its parent ends.
type Tree struct {
	root    int
	members map[int]*member
	others  map[int]bool // processes that are not in the tree
	looks   int
	buf     []byte
	path    []byte
	dir     *os.File
	page    int64

	used          time.Duration // processor time, with that of processes that have ended
	read, written int64         // of processes that have ended
}

// relook is after how many looks the other processes are looked at again: a pid may be a new process.
const relook = 16

// NewTree returns the tree of a running process.
func NewTree(root int) *Tree {
	return &Tree{root: root, members: map[int]*member{}, others: map[int]bool{}, buf: make([]byte, 4096), page: int64(os.Getpagesize())}
}

// Look looks at the processes and adds them to list and their sums to d.
func (t *Tree) Look(d *posixtrace.ResSampleData, list []posixtrace.ResProcess) []posixtrace.ResProcess {
	if t.looks%relook == 0 {
		clear(t.others)
	}
	t.looks++
	for _, m := range t.members {
		m.seen = false
	}
	t.find()
	d.Processes, d.Threads, d.Descriptors, d.RSS, d.Read, d.Written, d.LimitProcess = 0, 0, 0, 0, t.read, t.written, 0
	used := time.Duration(0)
	for pid, m := range t.members {
		if !m.seen {
			t.read += m.Read
			t.written += m.Written
			d.Read += m.Read
			d.Written += m.Written
			delete(t.members, pid)
			continue
		}
		t.lookFurther(m)
		if atLimit(m) && (d.LimitProcess == 0 || m.PID < d.LimitProcess) {
			d.LimitProcess = m.PID
		}
		d.Processes++
		d.Threads += m.Threads
		d.Descriptors += m.Descriptors
		d.RSS += m.RSS
		d.Read += m.Read
		d.Written += m.Written
		used += m.CPU + m.children
		list = append(list, m.ResProcess)
	}
	t.used = max(t.used, used) // what a process used of which no process waited is lost
	d.CPU = t.used
	return list
}

// find marks the processes of the tree, and finds new ones.
func (t *Tree) find() {
	if t.dir == nil {
		var err error
		if t.dir, err = os.Open("/proc"); err != nil {
			return
		}
	}
	if _, err := t.dir.Seek(0, 0); err != nil {
		return
	}
	names, _ := t.dir.Readdirnames(-1)
	present := make(map[int]bool, len(names))
	var waiting []*member // whose parent has not been seen to be in the tree
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		present[pid] = true
		if t.others[pid] {
			continue
		}
		m, ok := t.stat(pid)
		if !ok {
			continue
		}
		old := t.members[pid]
		switch {
		case old != nil && old.start == m.start:
			m.unreadable, m.Read, m.Written, m.Descriptors = old.unreadable, old.Read, old.Written, old.Descriptors
			*old = *m
		case pid == t.root:
			if old == nil && len(t.members) > 0 {
				continue // the root ended, and its pid is another process
			}
			t.members[pid] = m
		case t.members[m.Parent] != nil:
			t.members[pid] = m
		default:
			waiting = append(waiting, m)
		}
	}
	for found := true; found; {
		found = false
		rest := waiting[:0]
		for _, m := range waiting {
			if t.members[m.Parent] != nil && t.members[m.Parent].seen {
				t.members[m.PID] = m
				found = true
			} else {
				rest = append(rest, m)
			}
		}
		waiting = rest
	}
	for _, m := range waiting {
		t.others[m.PID] = true
	}
	for pid := range t.others {
		if !present[pid] {
			delete(t.others, pid)
		}
	}
}

// readFile reads a file of a process. What it returns is valid until the next call.
func (t *Tree) readFile(pid int, name string) ([]byte, bool) {
	t.path = append(strconv.AppendInt(append(t.path[:0], "/proc/"...), int64(pid), 10), name...)
	f, err := unix.Open(string(t.path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	n, err := unix.Read(f, t.buf)
	unix.Close(f)
	return t.buf[:max(n, 0)], err == nil && n > 0
}

// stat reads proc_pid_stat(5).
func (t *Tree) stat(pid int) (*member, bool) {
	b, ok := t.readFile(pid, "/stat")
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if !ok || from < 0 || to < from {
		return nil, false
	}
	m := &member{seen: true}
	m.PID, m.Program = pid, string(b[from+1:to])
	var f [22]uint64 // from the parent on, which is field 4
	rest := b[min(to+4, len(b)):]
	state := b[min(to+2, len(b)-1)]
	for i := range f {
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		for len(rest) > 0 && rest[0] != ' ' {
			if c := rest[0] - '0'; c <= 9 {
				f[i] = f[i]*10 + uint64(c)
			}
			rest = rest[1:]
		}
	}
	const parent, utime, stime, cutime, cstime, threads, start, rss = 0, 10, 11, 12, 13, 16, 18, 20
	m.Parent = int(f[parent])
	m.CPU = time.Duration(f[utime]+f[stime]) * tick
	m.children = time.Duration(f[cutime]+f[cstime]) * tick
	m.Threads, m.start, m.RSS = int(f[threads]), f[start], int64(f[rss])*t.page
	return m, state != 'X' && (state != 'Z' || m.Threads > 1)
}

// lookFurther reads what a process has read and written, and how many descriptors it has open.
func (t *Tree) lookFurther(m *member) {
	if m.unreadable {
		return
	}
	b, ok := t.readFile(m.PID, "/io")
	if !ok {
		m.unreadable = true
		return
	}
	m.Read, m.Written = field(b, "\nread_bytes: "), field(b, "\nwrite_bytes: ")
	var st unix.Stat_t
	t.path = append(strconv.AppendInt(append(t.path[:0], "/proc/"...), int64(m.PID), 10), "/fd"...)
	if unix.Stat(string(t.path), &st) == nil {
		m.Descriptors = int(st.Size) // 0 before Linux 6.2
	}
}

// atLimit reports whether a process has as many descriptors open as it may have.
func atLimit(m *member) bool {
	var limit unix.Rlimit
	return m.Descriptors > 0 && unix.Prlimit(m.PID, unix.RLIMIT_NOFILE, nil, &limit) == nil && uint64(m.Descriptors) >= limit.Cur
}

// field returns the number after a key, or 0.
func field(b []byte, key string) (n int64) {
	_, rest, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return 0
	}
	for _, c := range rest {
		if c < '0' || c > '9' || n > 1<<58 {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// Close closes what the tree has open.
func (t *Tree) Close() {
	if t.dir != nil {
		t.dir.Close()
	}
}
