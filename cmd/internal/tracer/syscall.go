package tracer

import (
	"encoding/binary"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// call is a system call that a thread is in.
type call struct {
	in      bool
	mute    bool // it is followed, but not recorded
	nr      int
	ip      uint64
	entered int64
	raw     [6]uint64
	args    []posixtrace.SyscallArg
	arena   []byte // what args points to
}

func nativeWord(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// atCall deals with the entry of a call and with its return.
func (t *tracer) atCall(k *task) {
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		resume(t.next(k), k.tid, 0)
		return
	}
	switch info.op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY, unix.PTRACE_SYSCALL_INFO_SECCOMP:
		if info.op == unix.PTRACE_SYSCALL_INFO_SECCOMP && info.filterData() != mark {
			// A filter of the program's own asks for a tracer of its own. Without one the call fails.
			skipCall(k.tid)
		}
		t.enter(k, &info)
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		t.leave(k, &info)
	}
	resume(t.next(k), k.tid, 0)
}

// enter notes what has to be known of a call before it is made.
func (t *tracer) enter(k *task, info *syscallInfo) {
	c := &k.call
	nr := int(info.nr())
	// Its return was never told, which should not be; but then the call was made, and is not
	// passed over in silence. A filter tells of the same call once more.
	if c.in && (info.op == unix.PTRACE_SYSCALL_INFO_ENTRY || nr != c.nr || info.ip != c.ip) {
		t.unfinished(k)
	}
	c.in = false
	if t.rec == nil {
		return
	}
	if info.arch != auditArch || nr >= x32Bit && nr < 2*x32Bit {
		t.foreignCalls(k)
		return
	}
	id := t.typeOf(nr)
	c.mute = id == 0 || !k.quiet && !t.takes(id, k)
	if c.mute && (k.quiet || !t.minds(nr, info.args()[0])) {
		return
	}
	// Of what comes before the command, only the call that makes it is the command's.
	if k.quiet && nr != unix.SYS_EXECVE && nr != unix.SYS_EXECVEAT {
		return
	}
	c.in, c.nr, c.ip, c.raw = true, nr, info.ip, info.args()
	c.entered = t.rec.Now()
	if c.mute {
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
	if c.nr == unix.SYS_PTRACE && info.failed() && info.result() == -int64(unix.EPERM) && !t.debugger {
		t.debugger = true
		t.tell("a program that uses ptrace(2) itself, such as a debugger, fails because it is traced")
	}
	if t.filter && !info.failed() && setsFilter(c.nr, c.raw[0]) {
		t.confine(k)
	}
	if t.filter && !k.quiet && info.result() == -int64(unix.EINVAL) && setsStrict(c.nr, c.raw) {
		t.missing(k, &t.refused, "", " asks for the strict mode of seccomp(2), which a traced process cannot have")
	}
	if c.mute || k.quiet || t.rec == nil {
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
	t.recordCall(k, &d)
}

// setsStrict reports whether a call asks for the mode in which a thread may do next to nothing.
func setsStrict(nr int, args [6]uint64) bool {
	return nr == unix.SYS_SECCOMP && args[0] == unix.SECCOMP_SET_MODE_STRICT || nr == unix.SYS_PRCTL && args[0] == unix.PR_SET_SECCOMP && args[1] == unix.SECCOMP_MODE_STRICT
}

// restarts reports whether an error is one inside of the kernel: a signal has interrupted the
// call, which is made again.
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
	if k.call.mute || k.quiet || t.rec == nil {
		return
	}
	t.decodeReturn(k, nil)
	t.recordCall(k, &posixtrace.SyscallData{})
}

// foreignCalls tells, once, of a program with system calls of another architecture, such as a
// 32-bit one. They have other numbers and other structures.
func (t *tracer) foreignCalls(k *task) {
	t.missing(k, &t.foreign, "the system calls of ", " are those of another architecture, and are not recorded")
}

// missing tells and records, once, that there are system calls that cannot be recorded. The name
// of the program stands between the two texts.
func (t *tracer) missing(k *task, told *bool, before, after string) {
	if *told || t.rec == nil {
		return
	}
	*told = true
	name, _ := os.Readlink("/proc/" + strconv.Itoa(k.tid) + "/exe")
	t.tell(before + name + after)
	t.record(posixtrace.EventError, k, 0, binary.LittleEndian.AppendUint32(nil, uint32(unix.ENOTSUP)))
}

// minds reports whether a call has to be followed that is not recorded.
func (t *tracer) minds(nr int, first uint64) bool {
	return nr == unix.SYS_PTRACE && !t.debugger || t.filter && setsFilter(nr, first)
}

// setsFilter reports whether a call sets a filter of system calls, or the strict mode, if it succeeds.
func setsFilter(nr int, first uint64) bool {
	return nr == unix.SYS_SECCOMP && first <= unix.SECCOMP_SET_MODE_FILTER || nr == unix.SYS_PRCTL && first == unix.PR_SET_SECCOMP
}

// confine is for a thread that has set a filter of its own. A call that this refuses never comes to ours,
// which the kernel asks as well but does not hear: from now on every call of the thread
// stops before any filter is asked.
func (t *tracer) confine(k *task) {
	k.confined = true
	if k.call.nr != unix.SYS_SECCOMP || k.call.raw[1]&unix.SECCOMP_FILTER_FLAG_TSYNC == 0 {
		return
	}
	// The other threads have got the filter as well, and run. To interrupt them could make
	// calls of theirs fail.
	for _, o := range t.tasks {
		if o.pid == k.pid && !o.confined {
			o.confined = true
			t.missing(k, &t.refused, "calls that a filter of ", " refuses in its other threads are not all recorded")
		}
	}
}

// typeOf returns the event type of a system call, 0 if it is not wanted.
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
	now := t.rec.Now()
	d.Duration = max(0, time.Duration(now-c.entered))
	d.Args = c.args
	t.buf = d.Append(t.buf[:0])
	t.rec.Record(posixtrace.EventInfo{ID: t.typeOf(c.nr), PID: k.pid, TID: k.tid, Address: c.ip, UnixNano: now}, t.buf)
}

// unknownName is the event type of calls that are newer than the table of names.
const unknownName = Prefix + "unknown"

// register gives each call that is wanted its event type. That is done before there is
// anything to trace: it takes locks, and who holds them may be a traced program that
// stops in the middle of it and waits for the tracer.
func (t *tracer) register() error {
	var list []string
	place := map[string]int{}
	of := func(nr int) string {
		if nr >= len(names) || names[nr] == "" {
			return unknownName
		}
		return Prefix + names[nr]
	}
	for nr := range t.wanted {
		if name := of(nr); t.wanted[nr] {
			if _, ok := place[name]; !ok {
				place[name] = len(list)
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
			t.ids[nr] = ids[place[of(nr)]]
		}
	}
	if t.cfg.Want.All {
		t.other = ids[place[unknownName]]
	}
	return nil
}
