package tracer

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
		case no != 0: // ECHILD: no traced thread is left
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
// until it gets SIGCONT.
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
