//go:build linux

package tracer

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// forked records a new process or thread.
func (t *tracer) forked(k *task, event int) {
	child, err := eventMessage(k.tid)
	if err != nil || child <= 0 {
		return
	}
	d := posixtrace.ForkData{Child: child, Kind: posixtrace.ForkPlain}
	pid := child
	switch event {
	case unix.PTRACE_EVENT_VFORK:
		d.Kind = posixtrace.ForkVfork
	case unix.PTRACE_EVENT_CLONE:
		d.Kind = posixtrace.ForkClone
		if p := procfs.Of(child); p == 0 || p == k.pid {
			pid, d.Kind = k.pid, posixtrace.ForkThread
		}
	}
	if t.cfg.Want.Proc && t.wants(posixtrace.EventProcFork, k) {
		t.buf = d.Append(t.buf[:0])
		t.record(posixtrace.EventProcFork, k, t.address(k), t.buf)
	}
	if t.tasks[child] == nil {
		t.tasks[child] = &task{tid: child, pid: pid, preExec: k.preExec, recipe: k.recipe.inherited()}
	}
	if d.Kind == posixtrace.ForkClone && t.cfg.Want.Files && !t.files.moved { // a sandbox may begin so
		t.files.moved = t.readLink(procfs.File(child, "ns/mnt")) != t.readLink("/proc/self/ns/mnt")
	}
	t.tasks[child].confined = t.tasks[child].confined || k.confined
	t.shareSetting(k, t.tasks[child])
	t.copySpace(k, t.tasks[child])
	t.stacks.share(k.pid, t.tasks[child].pid)
	t.forkArrived(child)
}

// address returns the instruction pointer of a stopped thread.
func (t *tracer) address(k *task) uint64 {
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		return 0
	}
	return info.ip
}

// executed records the execution of a program, and returns the thread that runs it. That
// thread has taken the id of the process; the kernel has ended the other threads.
func (t *tracer) executed(k *task) *task {
	if former, err := eventMessage(k.tid); err == nil && former != k.tid {
		if f := t.tasks[former]; f != nil {
			if k.call.in {
				t.unfinished(k)
			}
			t.forget(former)
			f.tid, f.recipe = k.tid, k.recipe
			t.tasks[k.tid] = f
			t.last = f
			k = f
		}
	}
	k.pid = k.tid
	t.forgetSpace(k.pid)
	command := k.preExec
	if k.preExec {
		k.preExec = false
		t.confirmFilter(k.tid)
		t.commandStarted(k)
	}
	if t.rec == nil {
		return k
	}
	var info syscallInfo
	if getSyscallInfo(k.tid, &info) != nil {
		return k
	}
	if t.cfg.Want.Proc && t.wants(posixtrace.EventProcExec, k) {
		d, env := t.program(k.tid, &info)
		t.describe(k, &d, env, command)
		d = t.redactProgram(d)
		Fit(&d, t.cfg.MaxData)
		t.buf = d.Append(t.buf[:0])
		t.record(posixtrace.EventProcExec, k, info.ip, t.buf)
	}
	t.recipeStarted(k, &info, command)
	t.fileExecuted(k)
	t.checkPrivilege(k.tid)
	if info.arch != auditArch && t.cfg.Want.calls() {
		t.reportForeignCalls(k)
	}
	return k
}

// commandStarted notes that a thread has become the command. The kernel has ended the other
// threads of its process.
func (t *tracer) commandStarted(k *task) {
	t.command = k.pid
	t.measureMachine()
	for tid, o := range t.tasks {
		if o != k && o.preExec {
			t.forget(tid)
		}
	}
	unix.Close(t.stage)
}

// exited forgets a thread that has ended, and records proc.exit if it is the leader of its
// process, whose end the kernel reports last.
func (t *tracer) exited(tid int, status syscall.WaitStatus, u *usage) {
	k := t.tasks[tid]
	if k == nil {
		t.endedEarly(tid, status, u)
		return
	}
	if k.call.in {
		t.unfinished(k)
	}
	if tid == k.pid {
		t.forgetSpace(k.pid)
		t.ended(k, status, u)
		if tid == t.command && t.stream != nil {
			child.SendPacket(t.control, reportExit, nil)
		}
	} else {
		t.delayed(k.pid, u.delay)
	}
	t.forget(tid)
}

// ended records the end of a process.
func (t *tracer) ended(k *task, status syscall.WaitStatus, u *usage) {
	t.filesEnded(k)
	t.recipeEnded(k, status)
	if t.cfg.Want.Proc && t.wants(posixtrace.EventProcExit, k) {
		d := t.exitData(k, status, u)
		t.buf = d.Append(t.buf[:0])
		t.record(posixtrace.EventProcExit, k, 0, t.buf)
	}
}

// signalled records a signal that is about to be delivered to a thread.
func (t *tracer) signalled(k *task, sig syscall.Signal) {
	if !t.cfg.Want.Signal || !t.wants(posixtrace.EventProcSignal, k) {
		return
	}
	d := posixtrace.SignalData{Signal: int(sig)}
	var si siginfo
	if signalInfo(k.tid, &si) == nil {
		d.Code = int(si.code)
		// With other codes these members have other meanings.
		if si.code <= 0 && si.code != siTimer && si.code != siKernelPoll || sig == unix.SIGCHLD {
			d.Sender, d.UID = int(si.pid), int(si.uid)
		}
	}
	ip := t.address(k)
	t.locate(k, ip)
	t.buf = d.Append(t.buf[:0])
	t.record(posixtrace.EventProcSignal, k, ip, t.buf)
}

// Codes of signals without a sender: from timers, and from queued I/O.
const (
	siTimer      = -2
	siKernelPoll = -5
)

// checkPrivilege reports, once, a set-uid, set-gid or capable program that runs without its
// privileges because it is traced.
func (t *tracer) checkPrivilege(tid int) {
	if t.privilege || os.Geteuid() == 0 || capable(unix.CAP_SYS_PTRACE) {
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
	t.notify(name + " runs without its set-uid privilege because it is traced")
}
