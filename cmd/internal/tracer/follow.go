package tracer

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// task is a thread that is traced.
type task struct {
	tid, pid int
	quiet    bool // it is not the command yet
	launcher bool // it will never be, but start it
	confined bool // it has a filter of its own, which is asked first: every call stops
	call     call // the system call it is in
}

// held is a new thread whose parent's stop has not been seen. It goes on after that,
// so that proc.fork stands before what it does; but not later than until.
type held struct {
	tid   int
	sig   syscall.Signal
	until time.Time
}

const holdPause = 50 * time.Microsecond

// holdAtMost is set by a test.
var holdAtMost = 2 * time.Millisecond

// loop traces until nothing is left to be traced.
func (t *tracer) loop() {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		flags := 0
		if len(t.held) > 0 {
			flags = unix.WNOHANG
		}
		tid, no := wait(&status, &usage, flags)
		// Between a stop that was taken from the kernel and the order to go on a
		// signal may be in our hands; here there is none.
		if t.releasing.Load() && tid <= 0 && !t.release() {
			return
		}
		switch {
		case no == unix.EINTR:
		case no != 0: // nobody is left
			t.release()
			return
		case tid == 0:
			if t.letGo(time.Now()); len(t.held) > 0 {
				unix.Nanosleep(&unix.Timespec{Nsec: holdPause.Nanoseconds()}, nil)
			}
		case status.Exited() || status.Signaled():
			t.ended(tid, status, &usage)
		case status.Stopped():
			t.stopped(tid, status)
			t.place.follow(tid)
			if t.releasing.Load() && !t.release() {
				return
			}
		}
	}
}

// task returns what is known of a thread.
func (t *tracer) task(tid int) *task {
	if k := t.last; k != nil && k.tid == tid {
		return k
	}
	k := t.tasks[tid]
	if k != nil {
		t.last = k
	}
	return k
}

func (t *tracer) forget(tid int) {
	delete(t.tasks, tid)
	if t.last != nil && t.last.tid == tid {
		t.last = nil
	}
}

// stopped does what a stop asks for, and lets the thread go on.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) {
	sig := status.StopSignal()
	event := int(status) >> 16 & 0xff
	k := t.task(tid)
	if k == nil {
		if event == unix.PTRACE_EVENT_STOP && t.hold(tid, sig) {
			return
		}
		k = t.meet(tid)
	}
	switch event {
	case 0:
		if sig == unix.SIGTRAP|0x80 {
			t.atCall(k)
			return
		}
		t.signalled(k, sig)
		resume(t.next(k), tid, sig)
	case unix.PTRACE_EVENT_SECCOMP:
		t.atCall(k)
	case unix.PTRACE_EVENT_STOP:
		t.goOn(k, sig)
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		t.forked(k, event)
		resume(t.next(k), tid, 0)
	case unix.PTRACE_EVENT_EXEC:
		k = t.executed(k)
		resume(t.next(k), tid, 0)
	default:
		resume(t.next(k), tid, 0)
	}
}

// goOn continues a thread at a stop that is none of a signal's delivery: it has just
// been born, or its process is stopped by job control, and then it stays stopped
// until somebody continues it.
func (t *tracer) goOn(k *task, sig syscall.Signal) {
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		resume(unix.PTRACE_LISTEN, k.tid, 0)
	default:
		resume(t.next(k), k.tid, 0)
	}
}

// next says how a thread goes on: up to the return of the call that it is in, or to
// whatever stops it next.
func (t *tracer) next(k *task) int {
	if k.call.in || k.confined && t.rec != nil {
		return unix.PTRACE_SYSCALL
	}
	if t.how == unix.PTRACE_SYSCALL && (t.rec == nil || k.launcher) {
		return unix.PTRACE_CONT
	}
	return t.how
}

// meet makes the acquaintance of a thread that no stop has announced. As long as there is no command,
// it is a child of the thread that starts that, and becomes the command if it executes a program.
func (t *tracer) meet(tid int) *task {
	k := &task{tid: tid, pid: tid, quiet: t.command == 0}
	if pid, ok := processOf(tid); ok {
		k.pid = pid
	}
	t.tasks[tid] = k
	return k
}

// hold keeps a new thread until its parent has announced it.
func (t *tracer) hold(tid int, sig syscall.Signal) bool {
	if holdAtMost <= 0 || slices.ContainsFunc(t.held, func(h held) bool { return h.tid == tid }) {
		return false
	}
	t.held = append(t.held, held{tid, sig, time.Now().Add(holdAtMost)})
	return true
}

// letGo lets go of those that were held for long enough.
func (t *tracer) letGo(now time.Time) {
	t.held = slices.DeleteFunc(t.held, func(h held) bool {
		if now.Before(h.until) {
			return false
		}
		t.goOn(t.meet(h.tid), h.sig)
		return true
	})
}

// forked records a new process or thread.
func (t *tracer) forked(k *task, event int) {
	child, err := eventMessage(k.tid)
	if err != nil || child <= 0 {
		return
	}
	if k.launcher {
		// The command is born, and what ends with the tracer is that, not ptrace-run.
		ptrace(unix.PTRACE_SETOPTIONS, k.tid, 0, uintptr(t.options()&^unix.PTRACE_O_EXITKILL))
	}
	d := posixtrace.ForkData{Child: child, Kind: posixtrace.ForkPlain}
	pid := child
	switch event {
	case unix.PTRACE_EVENT_VFORK:
		d.Kind = posixtrace.ForkVfork
	case unix.PTRACE_EVENT_CLONE:
		d.Kind = posixtrace.ForkClone
		if p, ok := processOf(child); !ok || p == k.pid {
			pid, d.Kind = k.pid, posixtrace.ForkThread
		}
	}
	if t.cfg.Want.Proc && t.takes(posixtrace.EventProcFork, k) {
		t.buf = d.Append(t.buf[:0])
		t.record(posixtrace.EventProcFork, k, t.address(k), t.buf)
	}
	if t.tasks[child] == nil {
		t.tasks[child] = &task{tid: child, pid: pid, quiet: k.quiet}
	}
	t.tasks[child].confined = t.tasks[child].confined || k.confined
	for i, h := range t.held {
		if h.tid == child {
			t.held = slices.Delete(t.held, i, i+1)
			t.goOn(t.tasks[child], h.sig)
			break
		}
	}
}

// address is where in its program a stopped thread is.
func (t *tracer) address(k *task) uint64 {
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		return 0
	}
	return info.ip
}

// executed records a new program, and returns the thread that runs it. It has the
// number of the process now; the other threads are gone.
func (t *tracer) executed(k *task) *task {
	if former, err := eventMessage(k.tid); err == nil && former != k.tid {
		if f := t.tasks[former]; f != nil {
			if k.call.in {
				t.unfinished(k)
			}
			t.forget(former)
			f.tid = k.tid
			t.tasks[k.tid] = f
			t.last = f
			k = f
		}
	}
	k.pid = k.tid
	if k.quiet {
		k.quiet = false
		t.confirmFilter(k.tid)
		t.begun(k)
	}
	if t.rec == nil {
		return k
	}
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		return k
	}
	if t.cfg.Want.Proc && t.takes(posixtrace.EventProcExec, k) {
		d := t.program(k.tid, &info)
		t.buf = d.Append(t.buf[:0])
		t.record(posixtrace.EventProcExec, k, info.ip, t.buf)
	}
	t.checkPrivilege(k.tid)
	if info.arch != auditArch && t.cfg.Want.calls() {
		t.foreignCalls(k)
	}
	return k
}

// begun is for the thread that has become the command. Others of the process that it
// was are gone.
func (t *tracer) begun(k *task) {
	t.command = k.pid
	for tid, o := range t.tasks {
		if o != k && o.quiet && !o.launcher {
			t.forget(tid)
		}
	}
	unix.Close(t.stage)
}

// program finds out what was executed: its path and arguments as they lie on its
// stack, argument count first.
func (t *tracer) program(tid int, info *syscallInfo) (d posixtrace.ExecData) {
	if info.arch == auditArch {
		if d, ok := t.stackProgram(tid, info.sp); ok {
			return d
		}
	}
	proc := "/proc/" + strconv.Itoa(tid)
	d.Path, _ = os.Readlink(proc + "/exe")
	if b, err := os.ReadFile(proc + "/cmdline"); err == nil && len(b) > 0 {
		d.Argv = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	return d
}

// Kinds of entries of the auxiliary vector.
const (
	auxEnd      = 0
	auxExecName = 31 // AT_EXECFN
)

// stackProgram reads the stack of a new program on this architecture:
//
//	argc | argv... | 0 | environment... | 0 | kind, value | ... | 0
//
// Of the environment it reads nothing but where it begins and how long it is.
func (t *tracer) stackProgram(tid int, sp uint64) (d posixtrace.ExecData, ok bool) {
	w := words{tid: tid, at: sp}
	argc := w.next()
	first := w.next()
	if argc == 0 || first == 0 || argc > 1<<20 {
		return d, false
	}
	for range argc - 1 {
		w.next()
	}
	if w.next() != 0 {
		return d, false
	}
	// The arguments lie one behind the other, and the environment behind them.
	end := w.next()
	for v := end; v != 0 && w.ok(); {
		v = w.next()
	}
	var name uint64
	for w.ok() {
		kind, value := w.next(), w.next()
		if kind == auxExecName {
			name = value
		}
		if kind == auxEnd || kind == auxExecName {
			break
		}
	}
	if end == 0 {
		end = name
	}
	if name == 0 || end <= first {
		return d, false
	}
	b := t.memory(pathMax)
	path, _, ok := readString(tid, name, b)
	if !ok {
		return d, false
	}
	d.Path = string(path)
	args := make([]byte, min(end-first, uint64(t.cfg.MaxData)+1))
	args = args[:readMemory(tid, first, args)]
	if len(args) == 0 {
		return d, false
	}
	d.Argv = strings.Split(string(bytes.TrimSuffix(args, []byte{0})), "\x00")
	return d, true
}

const pathMax = 4096

// memory returns room to read n bytes into.
func (t *tracer) memory(n int) []byte {
	if len(t.mem) < n {
		t.mem = make([]byte, n)
	}
	return t.mem[:n]
}

// words reads one word of another process's memory after the other.
type words struct {
	tid   int
	at    uint64
	b     [1024]byte
	n     int // in b
	i     int
	total int
	bad   bool
}

// maxWords bounds what a stack is believed to hold.
const maxWords = 1 << 21

func (w *words) ok() bool { return !w.bad }

func (w *words) next() uint64 {
	for w.i+8 > w.n {
		// A word may lie across two pages.
		w.n = copy(w.b[:], w.b[w.i:w.n])
		w.i = 0
		n := readMemory(w.tid, w.at, w.b[w.n:min(len(w.b), w.n+pageSize-int(w.at%pageSize))])
		w.at += uint64(n)
		w.n += n
		if w.total += n; n == 0 || w.total > maxWords {
			w.bad = true
			return 0
		}
	}
	v := nativeWord(w.b[w.i:])
	w.i += 8
	return v
}

// ended records the end of a process.
func (t *tracer) ended(tid int, status syscall.WaitStatus, u *syscall.Rusage) {
	k := t.tasks[tid]
	t.held = slices.DeleteFunc(t.held, func(h held) bool { return h.tid == tid })
	if k == nil {
		return
	}
	if k.call.in {
		t.unfinished(k)
	}
	if tid == k.pid {
		if t.cfg.Want.Proc && t.takes(posixtrace.EventProcExit, k) {
			d := posixtrace.NewExitData(status, u)
			t.buf = d.Append(t.buf[:0])
			t.record(posixtrace.EventProcExit, k, 0, t.buf)
		}
		if tid == t.command && t.stream != nil {
			send(t.control, tellExit, nil)
		}
	}
	t.forget(tid)
}

// signalled records a signal that is about to be delivered.
func (t *tracer) signalled(k *task, sig syscall.Signal) {
	if !t.cfg.Want.Signal || !t.takes(posixtrace.EventProcSignal, k) {
		return
	}
	d := posixtrace.SignalData{Signal: int(sig)}
	var si siginfo
	if signalInfo(k.tid, &si) == nil {
		d.Code = int(si.code)
		// Other codes have other members there.
		if si.code <= 0 && si.code != siTimer && si.code != siKernelPoll || sig == unix.SIGCHLD {
			d.Sender, d.UID = int(si.pid), int(si.uid)
		}
	}
	t.buf = d.Append(t.buf[:0])
	t.record(posixtrace.EventProcSignal, k, t.address(k), t.buf)
}

// Codes of signals that have no sender: a timer's, and that of queued I/O.
const (
	siTimer      = -2
	siKernelPoll = -5
)

// processOf returns the process that a thread belongs to.
func processOf(tid int) (pid int, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(b, []byte("\nTgid:"))
	if !ok {
		return 0, false
	}
	n, err := fmt.Sscan(string(rest[:min(len(rest), 32)]), &pid)
	return pid, n == 1 && err == nil
}

// checkPrivilege tells, once, of a program that would have got privileges by being
// executed, and does not because it is traced.
func (t *tracer) checkPrivilege(tid int) {
	if t.privilege || os.Geteuid() == 0 {
		return
	}
	exe := "/proc/" + strconv.Itoa(tid) + "/exe"
	var st unix.Stat_t
	if unix.Stat(exe, &st) != nil {
		return
	}
	privileged := st.Mode&unix.S_ISUID != 0 && int(st.Uid) != os.Geteuid() ||
		st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID|unix.S_IXGRP && int(st.Gid) != os.Getegid()
	if !privileged {
		var capabilities [64]byte
		if n, err := unix.Getxattr(exe, "security.capability", capabilities[:]); err != nil || n == 0 {
			return
		}
	}
	t.privilege = true
	name, _ := os.Readlink(exe)
	t.tell(name + " runs without its set-uid privilege because it is traced")
}
