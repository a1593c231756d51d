//go:build linux

package tracer

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The requests of ptrace(2) do not block, so they are made without the runtime's scheduler
// (RawSyscall).

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, no := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	return errnoOf(no)
}

// restartBlock is the result of a call that is interrupted and that restart_syscall(2) continues. No
// program sees it.
const restartBlock syscall.Errno = 516

func errnoOf(no syscall.Errno) error {
	if no != 0 {
		return no
	}
	return nil
}

// seize starts to trace a thread without stopping it. It waits while the process executes a program.
func seize(tid, options int) error {
	_, _, no := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, uintptr(options), 0, 0)
	return errnoOf(no)
}

// ptraceResume resumes a stopped thread, with a signal unless that is 0. how is PTRACE_CONT,
// PTRACE_SYSCALL or PTRACE_LISTEN. It ignores the error for a thread that was killed
// meanwhile: wait reports its end.
func ptraceResume(how, tid int, sig syscall.Signal) { ptrace(how, tid, 0, uintptr(sig)) }

// eventMessage returns the message of a ptrace event, such as the id of a new process.
func eventMessage(tid int) (int, error) {
	var msg uint
	err := ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&msg)))
	return int(msg), err
}

// siginfo is siginfo_t: the head, and the members of signals from kill(2) and of SIGCHLD.
type siginfo struct {
	signo, errno, code, _ int32
	pid, uid              int32
	status, _             int32 // this and the rest of SIGCHLD only
	utime, stime          int64 // in hundredths of a second
	_                     [80]byte
}

func signalInfo(tid int, si *siginfo) error {
	return ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(si)))
}

// syscallInfo is struct ptrace_syscall_info. The meaning of u depends on op.
type syscallInfo struct {
	op     uint8
	_      [3]byte
	arch   uint32
	ip, sp uint64
	u      [8]uint64
}

// At the entry of a call, also at a seccomp stop:
func (s *syscallInfo) nr() uint64      { return s.u[0] }
func (s *syscallInfo) args() [6]uint64 { return [6]uint64(s.u[1:7]) }

// At a seccomp stop, the data that the filter returned with SECCOMP_RET_TRACE:
func (s *syscallInfo) filterData() uint32 { return uint32(s.u[7]) }

// At the return of a call:
func (s *syscallInfo) result() int64 { return int64(s.u[0]) }
func (s *syscallInfo) failed() bool  { return uint8(s.u[1]) != 0 }

func getSyscallInfo(tid int, s *syscallInfo) error {
	s.op = unix.PTRACE_SYSCALL_INFO_NONE
	return ptrace(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s)))
}

// childInfo is the siginfo_t that waitid(2) fills in.
type childInfo struct {
	_        [2]int32
	code, _  int32
	pid, uid int32
	status   int32
	_        [100]byte
}

// wait waits for any traced thread to stop or end. Without WNOHANG it can block for long, so the
// runtime's scheduler must know of it (Syscall).
//
// It leaves the report of a stop with the kernel (WNOWAIT): taking it would take the signal
// that the thread stopped for, and the thread would not get that signal if the tracer were
// killed before it resumed the thread. The kernel repeats the report until then.
func wait(status *syscall.WaitStatus, u *usage, flags int) (int, syscall.Errno) {
	var info childInfo
	var no syscall.Errno
	flags |= unix.WALL | unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT
	if flags&unix.WNOHANG != 0 {
		_, _, no = unix.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), uintptr(flags), 0, 0)
	} else {
		_, _, no = unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), uintptr(flags), 0, 0)
	}
	if no != 0 {
		return -1, no
	}
	if info.pid == 0 {
		return 0, 0
	}
	if info.code == childTrapped || info.code == childStopped {
		if info.status>>8 == unix.PTRACE_EVENT_EXEC {
			takeStop(int(info.pid)) // before, requests for a thread that changed its id fail
		}
		*status = syscall.WaitStatus(uint32(info.status)<<8 | 0x7f)
		return int(info.pid), 0
	}
	u.measure(int(info.pid))
	var ws int32
	tid, _, no := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(info.pid), uintptr(unsafe.Pointer(&ws)), unix.WALL, uintptr(unsafe.Pointer(&u.Rusage)), 0, 0)
	*status = syscall.WaitStatus(ws)
	return int(tid), no
}

// Codes of childInfo: CLD_TRAPPED, CLD_STOPPED.
const (
	childTrapped = 4
	childStopped = 5
)

// takeStop takes the report of a stop of a thread that stays stopped for now.
func takeStop(tid int) {
	var info childInfo
	unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(&info)), uintptr(unix.WALL|unix.WSTOPPED|unix.WNOHANG), 0, 0)
}
