package tracer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// tracer is the tracer in its own process. All but the release is used by one thread.
type tracer struct {
	cfg     Config
	wanted  [1024]bool
	control int
	stage   int
	thread  int

	stream *posixtrace.Stream // nil once it was released
	rec    *posixtrace.Recorder
	ids    [1024]posixtrace.EventID
	other  posixtrace.EventID // of calls beyond these, or 0

	command int // the process of the command
	tasks   map[int]*task
	last    *task
	held    []held
	filter  bool // the command has a filter
	how     int  // how threads are resumed that are not in a call: PTRACE_CONT or PTRACE_SYSCALL

	privilege bool // the loss of privilege was told
	debugger  bool // that ptrace(2) fails was told
	foreign   bool // that there are calls of another architecture was told
	refused   bool // likewise of calls that a filter of the program's own refuses
	place     place

	releasing atomic.Bool
	buf       []byte
	mem       []byte
	copied    [512]byte // a structure of a traced process
}

// Serve is the life of a tracer, which Start began: control and the descriptor behind
// it are its sockets. It returns false at once if they are not.
func Serve(control int) bool {
	for fd := control; fd <= control+1; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			return false
		}
	}
	runtime.LockOSThread()
	deaf()
	interruptible()
	unix.CloseOnExec(control)
	unix.CloseOnExec(control + 1)
	unix.CloseRange(uint(control+2), 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	os.WriteFile("/proc/self/comm", []byte("ptrace-run"), 0)
	t := &tracer{control: control, stage: control + 1, thread: unix.Gettid(), tasks: make(map[int]*task), how: unix.PTRACE_CONT}
	what, data := receive(control)
	if what != orderConfig || json.Unmarshal(data, &t.cfg) != nil {
		return true
	}
	if !t.attach() {
		return true
	}
	quiet()
	t.place.init()
	go t.obey()
	t.loop()
	return true
}

// attach begins to trace what will become the command.
func (t *tracer) attach() bool {
	err := t.open()
	what, data := receive(t.stage)
	var pid, tid int
	if n, _ := fmt.Sscanf(string(data), "%d %d", &pid, &tid); what != stageHere && what != stageLaunch || n != 2 {
		return false
	}
	launches := what == stageLaunch
	if err == nil {
		err = seize(tid, t.options())
	}
	if err != nil {
		no := unix.EPERM
		if e, ok := err.(syscall.Errno); ok {
			no = e
		}
		send(t.control, tellAttached, []byte(strconv.Itoa(int(no))))
		send(t.stage, stageLone, nil)
		return false
	}
	t.tasks[tid] = &task{tid: tid, pid: pid, quiet: true, launcher: launches}
	if t.cfg.Want.All {
		t.how = unix.PTRACE_SYSCALL
		if !launches {
			ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0)
		}
	}
	var program []byte
	if t.cfg.Want.Filtered() {
		t.filter = true
		program = appendProgram(nil, filterProgram(t.stops()))
	}
	send(t.control, tellAttached, []byte("0"))
	send(t.stage, stageGo, program)
	return true
}

// stops lists the calls that have to stop: those asked for, and ptrace(2), which
// fails in a way that the user should hear of, and seccomp(2), after which calls may be refused
// before our filter is asked.
func (t *tracer) stops() []int {
	return append([]int{unix.SYS_PTRACE, unix.SYS_SECCOMP}, t.cfg.Want.Calls...)
}

// open connects to the stream.
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
	if t.rec, err = t.stream.Recorder(); err == nil {
		err = t.register()
	}
	return err
}

// options are those of ptrace(2). Where a filter is set nothing may live on without
// its tracer: the calls that stop would fail.
func (t *tracer) options() int {
	o := unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC
	if t.cfg.Want.Filtered() {
		o |= unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL
	}
	return o
}

// confirmFilter finds out, when the command is there, whether its filter is.
func (t *tracer) confirmFilter(tid int) {
	if !t.filter {
		return
	}
	b := make([]byte, 64)
	n, _, err := unix.Recvfrom(t.stage, b, unix.MSG_DONTWAIT)
	if err == nil && n > 1 && b[0] == stageSet && string(b[1:n]) == "0" {
		return
	}
	// Without one all calls stop, and those not asked for are passed over.
	t.filter = false
	t.how = unix.PTRACE_SYSCALL
	ptrace(unix.PTRACE_SETOPTIONS, tid, 0, uintptr(t.options()&^unix.PTRACE_O_EXITKILL))
}

// obey waits for the order to let go, or for the end of who would give it.
func (t *tracer) obey() {
	for {
		if what, _ := receive(t.control); what == 0 || what == orderRelease {
			break
		}
	}
	t.releasing.Store(true)
	for t.releasing.Load() {
		// The thread may have looked just before it went to wait.
		unix.Tgkill(os.Getpid(), t.thread, wake)
		time.Sleep(5 * time.Millisecond)
	}
}

// release gives up the stream. It reports whether the tracer has to stay.
func (t *tracer) release() (stay bool) {
	if t.stream != nil {
		t.tellLeft()
		t.rec.Close()
		t.stream.Close()
		t.rec, t.stream = nil, nil
		send(t.control, tellReleased, nil)
		unix.Close(t.control)
	}
	t.releasing.Store(false)
	return t.filter && len(t.tasks) > 0
}

// leftShown bounds how many processes are named in a message.
const leftShown = 8

// tellLeft reports what goes on to run, as a daemon does, when the command has ended.
func (t *tracer) tellLeft() {
	if t.cfg.Alone || t.command == 0 || running(t.command) {
		return // it was not recorded before, or the command has not ended
	}
	var pids []int
	for _, k := range t.tasks {
		if !k.launcher && k.pid != t.command && !slices.Contains(pids, k.pid) && running(k.pid) {
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
	t.tell("the command has left processes running, and nothing more of them is recorded: " + text)
}

// running reports whether a process has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return ok && rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

// tell sends a message for the user.
func (t *tracer) tell(text string) {
	if t.stream != nil {
		send(t.control, tellNote, []byte(text))
	}
}

// takes reports whether the stream takes events of a type now.
func (t *tracer) takes(id posixtrace.EventID, k *task) bool {
	return t.rec != nil && !k.quiet && (!t.cfg.Alone || k.pid == t.command) && t.rec.Wants(id)
}

// record records an event of a thread.
func (t *tracer) record(id posixtrace.EventID, k *task, ip uint64, data []byte) {
	t.rec.Record(posixtrace.EventInfo{ID: id, PID: k.pid, TID: k.tid, Address: ip}, data)
}
