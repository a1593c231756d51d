//go:build linux

package tracer

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// task is a traced thread.
type task struct {
	tid, pid int
	preExec  bool // it has not executed the command yet
	confined bool // it has a seccomp filter of its own, which runs before ours: stop at every call
	call     call // the system call it is in
	file     fileTask
	place    *place // where the board shows that, nil for none
	recipe   inRecipe
	setting  *setting // of its process, nil if that is not known yet

	calls       bool // it was resumed to stop at its calls
	interrupted bool // by the tracer, which has not seen it stop for that yet
	awaited     bool // interrupted, and not seen to stop since: any stop may take the place of that one
	broken      int  // the call that was interrupted and that restart_syscall(2) continues, or 0
}

// awaitStop is replaced by a test.
var awaitStop = wait

// loop handles stops until no traced thread is left, or the tracer is released.
func (t *tracer) loop() {
	var status syscall.WaitStatus
	u := usage{wanted: t.cfg.Want.Proc}
	for {
		if t.changed.Load() {
			t.follow()
		}
		if t.gone.Load() {
			t.takeEnds()
		}
		if t.attaching && (t.overdue.Load() || !t.awaitsStop()) {
			t.confirmAttached()
		}
		if t.overdue.Load() {
			t.overdue.Store(false)
		}
		tid, no := t.await(&status, &u)
		// Release only here. Between wait and resume the tracer may hold a signal that
		// it must deliver.
		if tid <= 0 && t.mayRelease(false) && !t.release() {
			return
		}
		switch {
		case no == unix.EINTR:
		case no != 0: // ECHILD: no traced thread is left
			t.release()
			return
		case tid == 0:
			t.awaitForks()
		case status.Exited() || status.Signaled():
			t.exited(tid, status, &u)
		case status.Stopped():
			t.stopped(tid, status)
			t.placement.observe(tid)
			if t.mayRelease(true) && !t.release() {
				return
			}
		}
	}
}

// await waits for a stop or an end. It returns 0 at once if there is none but threads are held.
func (t *tracer) await(status *syscall.WaitStatus, u *usage) (int, syscall.Errno) {
	if len(t.held) > 0 {
		return awaitStop(status, u, unix.WNOHANG)
	}
	var start time.Time
	for spin := t.placement.spin; spin > 0; unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) {
		if tid, no := awaitStop(status, u, unix.WNOHANG); tid != 0 || no != 0 {
			return tid, no
		}
		now := time.Now()
		if start.IsZero() {
			start = now
		}
		if now.Sub(start) >= spin {
			break
		}
	}
	return awaitStop(status, u, 0)
}

// task returns the state of a thread, nil if it is unknown.
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
	if k := t.tasks[tid]; k != nil {
		t.board.forget(k)
		t.leaveSetting(k)
	}
	delete(t.tasks, tid)
	delete(t.delays, tid)
	if t.last != nil && t.last.tid == tid {
		t.last = nil
	}
}

// stopped records what a stop reports, and resumes the thread.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) {
	sig := status.StopSignal()
	event := int(status) >> 16 & 0xff
	k := t.task(tid)
	if k == nil {
		if event == unix.PTRACE_EVENT_STOP && t.hold(tid, sig) {
			return
		}
		k = t.adopt(tid)
	}
	k.awaited = false
	switch event {
	case 0:
		if sig == unix.SIGTRAP|0x80 {
			t.atCall(k)
			return
		}
		if sig == unix.SIGCHLD && len(t.untraced) > 0 {
			t.childEnded(k.tid)
		}
		t.signalled(k, sig)
		if t.cfg.Attach != 0 {
			restartCall(k.tid) // a signal that the process ignores stops it too, now that it is traced
		}
		t.resume(k, sig)
	case unix.PTRACE_EVENT_SECCOMP:
		t.atCall(k)
	case unix.PTRACE_EVENT_STOP:
		t.resumeAtStop(k, sig)
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		t.forked(k, event)
		t.resume(k, 0)
	case unix.PTRACE_EVENT_EXEC:
		if k = t.executed(k); !t.letRun(k) {
			t.resume(k, 0)
		}
	default:
		t.resume(k, 0)
	}
}

// resumeAtStop resumes a thread at a PTRACE_EVENT_STOP: it is new, or job control has stopped
// its process. In the latter case it stays stopped until SIGCONT.
func (t *tracer) resumeAtStop(k *task, sig syscall.Signal) {
	if t.cfg.Attach != 0 && t.cfg.Alone && k.pid != t.command {
		ptrace(unix.PTRACE_DETACH, k.tid, 0, 0) // a child, which is not recorded
		t.forget(k.tid)
		return
	}
	if k.interrupted && sig == unix.SIGTRAP {
		k.broken = restartCall(k.tid)
	}
	k.interrupted = false
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		ptraceResume(unix.PTRACE_LISTEN, k.tid, 0)
	default:
		t.resume(k, 0)
	}
}

// resume resumes a thread, with a signal unless that is 0.
func (t *tracer) resume(k *task, sig syscall.Signal) {
	how := t.request(k)
	k.calls = how == unix.PTRACE_SYSCALL
	ptraceResume(how, k.tid, sig)
}

// request returns the request of ptrace(2) that resumes a thread: to the return of the call
// that it is in, or to the next event.
func (t *tracer) request(k *task) int {
	if k.call.in || k.confined && t.rec != nil {
		return unix.PTRACE_SYSCALL
	}
	if t.how == unix.PTRACE_SYSCALL && t.rec == nil {
		return unix.PTRACE_CONT
	}
	return t.how
}

// adopt registers a thread first seen at a stop of its own. Before the command exists, such
// a thread is one of the process that becomes the command.
func (t *tracer) adopt(tid int) *task {
	k := &task{tid: tid, pid: tid, preExec: t.command == 0}
	if pid := procfs.Of(tid); pid != 0 {
		k.pid = pid
	}
	k.recipe = t.recipeOf(tid)
	if _, parent, ok := statOf(tid); ok && t.tasks[parent] != nil {
		t.shareSetting(t.tasks[parent], k)
	}
	t.tasks[tid] = k
	return k
}
