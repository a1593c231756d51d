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
	if info.arch != auditArch || nr < 0 || nr >= len(t.wanted) || t.rec == nil {
		if info.arch != auditArch || nr&x32Bit != 0 {
			t.foreignCalls(k.tid)
		}
		return
	}
	c.mute = !t.wanted[nr] || !k.quiet && !t.takes(t.ids[nr], k)
	if c.mute && (nr != unix.SYS_PTRACE || t.debugger || k.quiet) {
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
func (t *tracer) foreignCalls(tid int) {
	if t.foreign {
		return
	}
	t.foreign = true
	name, _ := os.Readlink("/proc/" + strconv.Itoa(tid) + "/exe")
	t.tell("the system calls of " + name + " are those of another architecture, and are not recorded")
}

func (t *tracer) recordCall(k *task, d *posixtrace.SyscallData) {
	c := &k.call
	now := t.rec.Now()
	d.Duration = max(0, time.Duration(now-c.entered))
	d.Args = c.args
	t.buf = d.Append(t.buf[:0])
	t.rec.Record(posixtrace.EventInfo{ID: t.ids[c.nr], PID: k.pid, TID: k.tid, Address: c.ip, UnixNano: now}, t.buf)
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
	return nil
}
