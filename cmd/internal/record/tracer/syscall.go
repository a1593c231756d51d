//go:build linux

package tracer

import (
	"encoding/binary"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// call is the system call that a thread is in.
type call struct {
	in         bool
	unrecorded bool // the tracer follows the call but does not record it
	file       bool // it uses a file, which is recorded
	nr         int
	resumed    int // of restart_syscall(2): the call that it continues, 0 if that is unknown
	ip         uint64
	entered    time.Time
	raw        [6]uint64
	args       []posixtrace.SyscallArg
	arena      []byte // what args points to
	decoded    int    // how many of raw args covers
	watched    []byte // the sets of descriptors of select(2) at its entry
	timeout    [16]byte
	stack      []posixtrace.SyscallFrame
	stackCut   bool
	timed      bool // timeout is a copy at the entry: on return the kernel has written what is left
}

func nativeWord(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// atCall handles a stop at the entry or the return of a call.
func (t *tracer) atCall(k *task) {
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		t.resume(k, 0)
		return
	}
	switch info.op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY, unix.PTRACE_SYSCALL_INFO_SECCOMP:
		if info.op == unix.PTRACE_SYSCALL_INFO_SECCOMP && info.filterData() != mark {
			// A filter of the program's own returned SECCOMP_RET_TRACE. Without a tracer for
			// it the call fails, so it must fail here.
			skipCall(k.tid)
		}
		t.enter(k, &info)
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		if t.cfg.Attach != 0 && info.failed() && info.result() == -int64(unix.EINTR) {
			t.interrupt(k)
		}
		t.leave(k, &info)
	}
	t.resume(k, 0)
}

// enter notes the entry of a call, and decodes the arguments that are known.
func (t *tracer) enter(k *task, info *syscallInfo) {
	c := &k.call
	nr, resumed := int(info.nr()), 0
	if nr == unix.SYS_RESTART_SYSCALL && info.arch == auditArch {
		resumed = k.resumes(info)
		if k.broken != 0 && resumed != 0 {
			nr = resumed // its beginning was not recorded
		}
	}
	k.broken = 0
	// The return of the last call was not reported, which should not happen. The call was
	// made, so record it. A seccomp stop reports the same call a second time.
	if c.in && (info.op == unix.PTRACE_SYSCALL_INFO_ENTRY || nr != c.nr || info.ip != c.ip) {
		t.unfinished(k)
	}
	c.in = false
	if t.rec == nil {
		return
	}
	if info.arch != auditArch || nr >= x32Bit && nr-x32Bit < x32Bit {
		t.reportForeignCalls(k)
		return
	}
	id := t.typeOf(nr)
	c.unrecorded = id == 0 || !k.preExec && !t.wants(id, k)
	c.file = t.usesFile(k, nr, info.args())
	if c.unrecorded && !c.file && (k.preExec || !t.mustFollow(nr, info.args()[0])) {
		return
	}
	// Before the command starts, only the call that executes it counts.
	if k.preExec && nr != unix.SYS_EXECVE && nr != unix.SYS_EXECVEAT {
		return
	}
	c.in, c.nr, c.resumed, c.ip, c.raw = true, nr, resumed, info.ip, info.args()
	if c.file {
		t.fileEntered(k)
	}
	if !c.unrecorded {
		t.locate(k, c.ip) // now: a call that executes a program changes what is mapped
		if t.cfg.Want.Stack && !k.preExec {
			t.takeStack(k)
		}
	}
	c.entered = time.Now()
	t.board.enter(k)
	if c.unrecorded {
		return
	}
	c.args, c.arena = c.args[:0], c.arena[:0]
	t.decodeEntry(k)
	if nr == unix.SYS_EXIT || nr == unix.SYS_EXIT_GROUP {
		t.unfinished(k)
	}
}

// leave records a call that returns.
func (t *tracer) leave(k *task, info *syscallInfo) {
	c := &k.call
	if !c.in {
		return
	}
	c.in = false
	t.board.leave(k)
	if c.nr == unix.SYS_PTRACE && info.failed() && info.result() == -int64(unix.EPERM) && !t.debugger {
		t.debugger = true
		t.notify("a program that uses ptrace(2) itself, such as a debugger, fails because it is traced")
	}
	if t.filter && !info.failed() && setsFilter(c.nr, c.raw[0]) {
		t.markConfined(k)
	}
	if t.filter && !k.preExec && info.result() == -int64(unix.EINVAL) && setsStrict(c.nr, c.raw) {
		t.reportMissing(k, &t.refused, "", " asks for the strict mode of seccomp(2), which a traced process cannot have")
	}
	if c.file && !k.preExec && t.rec != nil {
		t.fileReturned(k, info)
	}
	if c.unrecorded || k.preExec || t.rec == nil {
		return
	}
	d := posixtrace.SyscallData{Result: info.result(), Returned: true}
	if info.failed() {
		d.Errno, d.Result = int(-d.Result), -1
		if restarts(d.Errno) {
			d.Result, d.Errno, d.Restarted = 0, 0, d.Errno
		}
	}
	t.decodeReturn(k, &d)
	if t.cfg.Want.Paths && d.Result >= 0 && succeeded(&d) && c.opens() {
		t.opened = appendOpened(t.opened[:0], k.tid, int(d.Result))
		if n := len(t.opened); n > 2 {
			d.Opened = t.opened[1 : n-1] // without the brackets
		}
	}
	t.recordCall(k, &d)
}

// setsStrict reports whether a call requests the strict mode of seccomp(2).
func setsStrict(nr int, args [6]uint64) bool {
	return nr == unix.SYS_SECCOMP && args[0] == unix.SECCOMP_SET_MODE_STRICT || nr == unix.SYS_PRCTL && args[0] == unix.PR_SET_SECCOMP && args[1] == unix.SECCOMP_MODE_STRICT
}

// restarts reports whether an error number is kernel-internal: a signal has interrupted the
// call, and the kernel restarts it.
func restarts(errno int) bool {
	switch errno {
	case 512, 513, 514, 516: // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK
		return true
	}
	return false
}

// unfinished records a call that does not return.
func (t *tracer) unfinished(k *task) {
	k.call.in = false
	if k.call.unrecorded || k.preExec || t.rec == nil {
		return
	}
	t.decodeReturn(k, nil)
	t.recordCall(k, &posixtrace.SyscallData{})
}

// reportForeignCalls reports, once, a program of another architecture, such as a 32-bit one.
// Its system calls have other numbers and other structures.
func (t *tracer) reportForeignCalls(k *task) {
	t.reportMissing(k, &t.foreign, "the system calls of ", " are those of another architecture, and are not recorded")
}

// reportMissing reports to the user and records, once, that some system calls cannot be
// recorded. The message has the name of the program between the two texts.
func (t *tracer) reportMissing(k *task, reported *bool, before, after string) {
	if *reported || t.rec == nil {
		return
	}
	*reported = true
	name, _ := os.Readlink("/proc/" + strconv.Itoa(k.tid) + "/exe")
	t.notify(before + name + after)
	t.record(posixtrace.EventError, k, 0, binary.LittleEndian.AppendUint32(nil, uint32(unix.ENOTSUP)))
}

// mustFollow reports whether the tracer must follow a call to its return even if it does not
// record the call.
func (t *tracer) mustFollow(nr int, first uint64) bool {
	return nr == unix.SYS_PTRACE && !t.debugger || t.filter && setsFilter(nr, first)
}

// setsFilter reports whether a call, if it succeeds, sets a seccomp filter or the strict mode.
func setsFilter(nr int, first uint64) bool {
	return nr == unix.SYS_SECCOMP && first <= unix.SECCOMP_SET_MODE_FILTER || nr == unix.SYS_PRCTL && first == unix.PR_SET_SECCOMP
}

// markConfined notes that a thread has set a filter of its own. The kernel runs our filter too
// but ignores its result for a call that the other filter refuses. So from now on every
// call of the thread stops at its entry, before any filter runs.
func (t *tracer) markConfined(k *task) {
	k.confined = true
	if k.call.nr != unix.SYS_SECCOMP || k.call.raw[1]&unix.SECCOMP_FILTER_FLAG_TSYNC == 0 {
		return
	}
	// The other threads have the filter too, and are running. Interrupting them could make
	// their calls fail.
	for _, o := range t.tasks {
		if o.pid == k.pid && !o.confined {
			o.confined = true
			t.reportMissing(k, &t.refused, "calls that a filter of ", " refuses in its other threads are not all recorded")
		}
	}
}

// typeOf returns the event type of a system call, 0 if the call is not wanted.
func (t *tracer) typeOf(nr int) posixtrace.EventID {
	switch {
	case nr < 0 || nr >= len(t.wanted):
		return t.other
	case !t.wanted[nr]:
		return 0
	}
	return t.ids[nr]
}

func (t *tracer) recordCall(k *task, d *posixtrace.SyscallData) {
	c := &k.call
	d.Duration = time.Since(c.entered)
	d.Args, d.Stack, d.StackCut = c.args, c.stack, c.stackCut
	t.redactCall(d)
	t.buf = d.Append(t.buf[:0])
	t.rec.Record(posixtrace.EventInfo{ID: t.typeOf(c.nr), PID: k.pid, TID: k.tid, Address: c.ip}, t.buf)
}

// unknownName names the event type of calls that the table of names lacks.
const unknownName = Prefix + "unknown"

// callName returns the name of the event type of a system call.
func callName(nr int) string {
	if nr < 0 || nr >= len(names) || names[nr] == "" {
		return unknownName
	}
	return Prefix + names[nr]
}

// register registers the event types of the wanted calls. It must run before anything is
// traced: it takes locks, and a traced program that holds one could stop and wait for the
// tracer.
func (t *tracer) register() error {
	var list []string
	index := map[string]int{}
	for nr := range t.wanted {
		if name := callName(nr); t.wanted[nr] {
			if _, ok := index[name]; !ok {
				index[name] = len(list)
				list = append(list, name)
			}
		}
	}
	ids, err := t.stream.OpenSystemEventIDs(list...)
	if err != nil {
		return err
	}
	for nr := range t.wanted {
		if t.wanted[nr] {
			t.ids[nr] = ids[index[callName(nr)]]
		}
	}
	if t.cfg.Want.All {
		t.other = ids[index[unknownName]]
	}
	return nil
}
