//go:build linux

package hang

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// world is what was seen of the machine.
type world struct {
	processes map[int]*process
	threads   map[int]*thread
	order     []*thread // as they were looked at
	first     int       // of order: those of the tree
	now       float64   // the scheduler's clock in seconds
	last      *Report   // see Options

	open  map[string][]descriptor // by what they refer to, nil before the first use
	peers map[int]int             // of Unix sockets, nil before the first use
	locks []lock                  // of /proc/locks
	tcp   map[string]*tcpTable    // by network namespace

	held    map[holding][]*thread // what holders has found
	refused bool                  // the descriptors of a process of the tree cannot be seen
	read    bool                  // locks
	holds   map[wait][]*thread    // what against has found

	hidden map[string]int // what could not be seen, and how often

	noAttach error // see Options

	within time.Duration // the time of the look, 0 for no limit
	until  time.Time
	cut    bool // it is over
}

func newWorld() *world {
	return &world{processes: map[int]*process{}, threads: map[int]*thread{}, hidden: map[string]int{}}
}

// hide notes something that cannot be seen.
func (w *world) hide(what string, err error) {
	switch err {
	case nil, unix.ESRCH, unix.ENOENT: // it has ended
	default:
		w.hidden[what+": "+err.Error()]++
	}
}

// process is a process of the machine.
type process struct {
	pid, parent, group, foreground int // foreground is the group that its terminal reads from
	name                           string
	state                          byte
	children                       []*process
	depth                          int
	inTree                         bool
	auth                           *string // see makeAuth

	args    []string
	files   []file // nil before the first use
	implied map[string]implied
	threads []*thread
	loaded  bool
	inner   *int // its pid in its own namespace, see innerID
}

// numbers calls f with the names in a directory that are numbers.
func numbers(dir string, f func(n int)) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, b)
		if n <= 0 {
			return err
		}
		_, _, list := unix.ParseDirent(b[:n], -1, nil)
		for _, s := range list {
			if i, err := strconv.Atoi(s); err == nil {
				f(i)
			}
		}
	}
}

// listProcesses lists all processes.
func (w *world) listProcesses() {
	err := numbers("/proc", func(pid int) {
		b, err := procfs.Read(pid, "stat")
		if err != nil {
			return
		}
		from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		if from < 0 || to < from {
			return
		}
		f := strings.Fields(string(b[to+1:]))
		if len(f) < 6 {
			return
		}
		p := &process{pid: pid, name: string(b[from+1 : to]), state: f[0][0]}
		p.parent, _ = strconv.Atoi(f[1])
		p.group, _ = strconv.Atoi(f[2])
		p.foreground, _ = strconv.Atoi(f[5])
		w.processes[pid] = p
	})
	w.hide("/proc", err)
	for _, p := range w.processes {
		if parent := w.processes[p.parent]; parent != nil && parent != p {
			parent.children = append(parent.children, p)
		}
	}
	for _, p := range w.processes {
		slices.SortFunc(p.children, func(a, b *process) int { return a.pid - b.pid })
	}
}

// tree returns the processes of the trees below roots, each before its children, without this one.
func (w *world) tree(roots []int) (list []*process) {
	seen := map[*process]bool{}
	var add func(p *process, depth int)
	add = func(p *process, depth int) {
		if p == nil || seen[p] || p.pid == os.Getpid() && depth > 0 {
			return
		}
		seen[p], p.depth, p.inTree = true, depth, true
		list = append(list, p)
		for _, c := range p.children {
			add(c, depth+1)
		}
	}
	for _, pid := range roots {
		add(w.processes[pid], 0)
	}
	return list
}

// grown reports whether the tree has a process that is not listed, as it began meanwhile. It may have the
// descriptors of a process that has closed them, or has ended, since.
func (w *world) grown() (yes bool) {
	of := map[int]bool{} // processes of the tree that are not listed
	w.hide("/proc", numbers("/proc", func(pid int) {
		if w.processes[pid] != nil {
			return
		}
		f := procfs.StatFields(pid)
		if len(f) < 2 || f[0] == "Z" {
			return
		}
		parent, _ := strconv.Atoi(f[1])
		if p := w.processes[parent]; p != nil && p.inTree || of[parent] {
			of[pid], yes = true, true
		}
	}))
	return yes
}

// arguments returns the command line of a process.
func (p *process) arguments() []string {
	if p.args == nil {
		p.args = []string{}
		if b, err := procfs.Read(p.pid, "cmdline"); err == nil && len(b) > 0 {
			p.args = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
			if !slices.ContainsFunc(p.args[1:], func(a string) bool { return a != "" }) { // it has replaced them
				p.args = []string{strings.TrimRight(p.args[0], " ")}
			}
		}
	}
	return p.args
}

// commandLine returns the command line in one text, with the last part of the program's path.
func commandLine(args []string, name string) string {
	if len(args) == 0 || args[0] == "" {
		return name
	}
	text := args[0][strings.LastIndexByte(args[0], '/')+1:]
	for _, a := range args[1:] {
		if len(text) > longestLabel {
			break
		}
		text += " " + a
	}
	if len(text) > longestLabel {
		text = text[:escape.Cut(text, longestLabel)] + "..."
	}
	return text
}

// longestLabel bounds a command line that a text names.
const longestLabel = 80

// innerID returns the number that a thread has in its own namespace of process ids, which is that in its
// memory. It is 0 if it cannot be read.
func innerID(tid int) int {
	b, err := procfs.Read(tid, "status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte("\nNSpid:"))
	if !ok {
		return tid // a kernel without namespaces
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	f := strings.Fields(string(line))
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(f[len(f)-1])
	return n
}

// mostRead bounds what is read of a file in /proc.
const mostRead = 1 << 20

// whole reads a file of a process in /proc that may be longer than procfs.Read reads.
func whole(pid int, name string) ([]byte, error) {
	f, err := os.Open(procfs.File(pid, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostRead))
}

// innerPID is the pid of a process in its own namespace.
func (p *process) innerPID() int {
	if p.inner == nil {
		n := innerID(p.pid)
		p.inner = &n
	}
	return *p.inner
}

// sameNamespace reports whether two processes have one namespace of process ids.
func sameNamespace(a, b int) bool {
	x, err := os.Readlink(procfs.File(a, "ns/pid"))
	if err != nil {
		return false
	}
	y, err := os.Readlink(procfs.File(b, "ns/pid"))
	return err == nil && x == y
}
