package child

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nothing is a wait status that is neither an exit nor a stop.
const nothing = syscall.WaitStatus(0xffff)

// WaitID is waitid(2) for one child and returns the status that wait4(2) would return; with
// WNOHANG, nothing if the child has not changed state. It makes one system call, so that a
// filter of system calls cannot allow a look and refuse the wait.
func WaitID(pid, options int, usage *syscall.Rusage) (syscall.WaitStatus, error) {
	var info struct { // siginfo_t of SIGCHLD
		signo, errno, code, _ int32
		pid, uid, status, _   int32
		_                     [96]byte
	}
	for {
		info.pid = 0
		err := unix.Waitid(unix.P_PID, pid, (*unix.Siginfo)(unsafe.Pointer(&info)), options, (*unix.Rusage)(unsafe.Pointer(usage)))
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.pid == 0 {
			return nothing, err
		}
		break
	}
	const (
		exited  = 1 // CLD_EXITED
		killed  = 2
		dumped  = 3
		trapped = 4
		stopped = 5
	)
	switch status := syscall.WaitStatus(info.status); info.code {
	case exited:
		return status & 0xff << 8, nil
	case killed:
		return status & 0x7f, nil
	case dumped:
		return status&0x7f | 0x80, nil
	case trapped, stopped:
		return status&0xff<<8 | 0x7f, nil
	}
	return nothing, nil
}
