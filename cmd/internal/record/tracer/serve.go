//go:build linux

package tracer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// tracer is the state of a tracer's process. One thread uses it; only releasing is shared.
type tracer struct {
	cfg     Config
	wanted  [1024]bool
	control int
	stage   int
	thread  int

	looks bool // it only describes a call, of a thread that it does not trace

	stream *posixtrace.Stream // nil after the release
	rec    *posixtrace.Recorder
	ids    [1024]posixtrace.EventID
	other  posixtrace.EventID // type of the calls beyond ids, or 0

	command int // process id of the command, 0 before it exists
	tasks   map[int]*task
	spaces  map[int]*space // by process
	stacks  stacks
	last    *task
	held    []held
	board   *board
	delays  map[int]time.Duration // by process: of its threads that have ended
	machine procfs.Machine        // when the command started
	filter  bool                  // the command has our filter
	how     int                   // resumes threads outside calls: PTRACE_CONT or PTRACE_SYSCALL

	// Whether these were reported:
	privilege bool // a program lost its privilege
	debugger  bool // a program's own ptrace(2) failed
	foreign   bool // calls of another architecture
	refused   bool // calls that a program's own filter refuses
	placement placement
	recipes   recipes
	settings  int    // bytes of environments that are kept
	environ   []byte // room for one

	programs    map[identity]program
	untraceable [leakChecked + 1]bool // reported
	untraced    map[int]*task         // the processes that run untraced
	ends        chan end              // of those
	gone        atomic.Bool           // ends is not empty
	watchers    atomic.Int32

	redact    *redact.Shared // nil for none
	leavesOut bool           // the bytes that calls move

	attaching bool        // the attachment is not reported yet, see confirmAttached
	overdue   atomic.Bool // it is to be reported now
	releasing atomic.Bool
	asked     time.Time   // to release, see mayRelease
	changed   atomic.Bool // whether calls are recorded, see watch
	calling   atomic.Bool // calls are recorded now
	buf       []byte
	mem       []byte
	files     files
	key       []byte             // of an event of a file
	link      [unix.PathMax]byte // the text of a link
	stat      unix.Statx_t
	opened    []byte    // what the result of a call refers to
	copied    [512]byte // copy of a structure of a traced process
}

// Serve is the main function of the process that Start started. control and control+1 are
// its sockets; if they are not sockets, Serve returns false at once.
func Serve(control int) bool {
	for fd := control; fd <= control+1; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			return false
		}
	}
	runtime.LockOSThread()
	ignoreSignals()
	interruptible()
	unix.CloseOnExec(control)
	unix.CloseOnExec(control + 1)
	unix.CloseRange(uint(control+2), 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
	t := &tracer{control: control, stage: control + 1, thread: unix.Gettid(), tasks: make(map[int]*task), how: unix.PTRACE_CONT}
	what, data := child.ReceivePacket(control)
	if what != orderConfig || json.Unmarshal(data, &t.cfg) != nil {
		return true
	}
	t.board = newBoard()
	attach := t.attach
	if t.cfg.Attach != 0 {
		attach = t.attachRunning
	}
	if !attach() {
		return true
	}
	ignoreChildStops()
	t.placement.init()
	go t.awaitRelease()
	t.loop()
	return true
}

// attach starts to trace the thread that will become the command.
func (t *tracer) attach() bool {
	err := t.open()
	what, data := child.ReceivePacket(t.stage)
	var pid, tid int
	if what == 0 { // the command cannot be started
		child.SendPacket(t.control, reportReleased, nil)
		return false
	}
	if n, _ := fmt.Sscanf(string(data), "%d %d", &pid, &tid); what != child.StageHere || n != 2 {
		return false
	}
	if err == nil {
		err = seize(tid, t.options())
	}
	if err != nil {
		t.reportAttached(err)
		child.SendPacket(t.stage, child.StageUntraced, nil)
		return false
	}
	t.tasks[tid] = &task{tid: tid, pid: pid, preExec: true}
	if t.cfg.Want.All {
		t.how = unix.PTRACE_SYSCALL
		ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0)
	}
	var program []byte
	if t.cfg.Want.Filtered() {
		t.filter = true
		program = appendProgram(nil, filterProgram(t.stops(), t.cfg.Want.Calls))
	}
	t.reportAttached(nil)
	child.SendPacket(t.stage, child.StageGo, program)
	return true
}

// reportAttached reports that the tracer has attached, or why it could not.
func (t *tracer) reportAttached(err error) {
	var no syscall.Errno
	if err != nil && !errors.As(err, &no) {
		no = unix.EPERM
	}
	child.SendPacket(t.control, reportAttached, []byte(strconv.Itoa(int(no))))
}

// stops returns the calls that the filter stops at: the ones to record; ptrace(2), whose
// failure is reported to the user; and seccomp(2), since a filter of the program's own may
// refuse calls before our filter sees them.
func (t *tracer) stops() []int {
	nrs := append([]int{unix.SYS_PTRACE, unix.SYS_SECCOMP}, t.cfg.Want.Calls...)
	if t.cfg.Want.Files {
		nrs = append(nrs, fileStops()...)
	}
	return nrs
}

// open attaches to the stream and registers the event types.
func (t *tracer) open() (err error) {
	for _, nr := range t.cfg.Want.Calls {
		if nr >= 0 && nr < len(t.wanted) {
			t.wanted[nr] = true
		}
	}
	if t.cfg.Want.All {
		for nr := range t.wanted {
			t.wanted[nr] = true
		}
	}
	if t.stream, err = posixtrace.Attach(t.cfg.Stream); err != nil {
		return err
	}
	t.redact = redact.Of(t.cfg.Stream)
	t.leavesOut = t.redact != nil && !t.redact.KeepsData()
	if t.rec, err = t.stream.Recorder(); err == nil {
		err = t.register()
	}
	if err == nil {
		err = t.openRecipes()
	}
	return err
}

// options returns the options of ptrace(2). With a filter, no process may outlive the tracer
// (EXITKILL): the calls that the filter stops would fail.
func (t *tracer) options() int {
	o := unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC
	if t.cfg.Want.Filtered() {
		o |= unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL
	}
	return o
}

// confirmFilter checks, when the command starts, whether it has our filter.
func (t *tracer) confirmFilter(tid int) {
	if !t.filter {
		return
	}
	b := make([]byte, 64)
	n, _, err := unix.Recvfrom(t.stage, b, unix.MSG_DONTWAIT)
	if err == nil && n > 1 && b[0] == child.StageSet && string(b[1:n]) == "0" {
		return
	}
	// Without the filter, stop at every call and ignore the ones that are not wanted.
	t.filter = false
	t.how = unix.PTRACE_SYSCALL
	ptrace(unix.PTRACE_SETOPTIONS, tid, 0, uintptr(t.options()&^unix.PTRACE_O_EXITKILL))
}

// awaitRelease waits for the order to release, or for the end of ptrace-run, and makes the
// loop release.
func (t *tracer) awaitRelease() {
	for {
		what, _ := child.ReceivePacket(t.control)
		if what == 0 && t.cfg.Stay {
			return
		}
		if what == 0 || what == orderRelease {
			break
		}
	}
	t.raise(&t.releasing)
}

// raise sets a flag and makes the loop test it, which then clears it.
func (t *tracer) raise(flag *atomic.Bool) {
	flag.Store(true)
	for flag.Load() {
		// Repeat the signal: the thread may have tested the flag just before it waited.
		unix.Tgkill(os.Getpid(), t.thread, wake)
		time.Sleep(5 * time.Millisecond)
	}
}

// release detaches from the stream. It reports whether the tracer must stay, for processes
// with its filter.
func (t *tracer) release() (stay bool) {
	t.confirmAttached()
	if t.stream != nil {
		t.awaitEnds()
		t.reportLeftProcesses()
		t.recordUnfinished()
		t.allFilesEnded()
		t.rec.Close()
		t.redact.Close()
		t.redact = nil
		t.stream.Close()
		t.rec, t.stream = nil, nil
		child.SendPacket(t.control, reportReleased, nil)
		unix.Close(t.control)
	}
	t.releasing.Store(false)
	return t.filter && len(t.tasks) > 0
}

// leftShown bounds the number of processes that a message lists.
const leftShown = 8

// reportLeftProcesses reports the processes, such as daemons, that outlive the command.
func (t *tracer) reportLeftProcesses() {
	if t.cfg.Alone || t.command == 0 || running(t.command) {
		return // they were not recorded, or the command has not ended
	}
	var pids []int
	for _, k := range t.tasks {
		if k.pid != t.command && !slices.Contains(pids, k.pid) && running(k.pid) {
			pids = append(pids, k.pid)
		}
	}
	if len(pids) == 0 {
		return
	}
	slices.Sort(pids)
	var list []string
	for _, pid := range pids[:min(len(pids), leftShown)] {
		list = append(list, strconv.Itoa(pid))
	}
	text := strings.Join(list, ", ")
	if more := len(pids) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	who := "the command"
	if t.cfg.Attach != 0 {
		who = "process " + strconv.Itoa(t.command)
	}
	t.notify(who + " has left processes running; their events are no longer recorded: " + text)
}

// running reports whether a process has not ended.
func running(pid int) bool {
	state, _, ok := statOf(pid)
	return ok && state != 'Z' && state != 'X'
}

// notify sends a message for the user.
func (t *tracer) notify(text string) {
	if t.stream != nil {
		child.SendPacket(t.control, reportNote, t.redactText([]byte(text), false))
	}
}

// wants reports whether an event of this type, of this thread, is to be recorded.
func (t *tracer) wants(id posixtrace.EventID, k *task) bool {
	return t.rec != nil && !k.preExec && (!t.cfg.Alone || k.pid == t.command) && t.rec.Wants(id)
}

// record records an event of a thread.
func (t *tracer) record(id posixtrace.EventID, k *task, ip uint64, data []byte) {
	t.rec.Record(posixtrace.EventInfo{ID: id, PID: k.pid, TID: k.tid, Address: ip}, data)
}
