package child

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nothing is a wait status that is neither an exit nor a stop.
const nothing = syscall.WaitStatus(0xffff)

// WaitID is waitid(2) for one child and returns the status that wait4(2) would return; with
// WNOHANG, nothing if the child has not changed state. It makes one system call, so that a
// filter of system calls cannot allow a look and refuse the wait.
func WaitID(pid, options int, usage *syscall.Rusage) (syscall.WaitStatus, error) {
	_, status, err := waitID(unix.P_PID, pid, options, usage)
	return status, err
}

// waitOthers waits for the end of a child, and leaves its status. As process 1 of a container, or as
// a subreaper, this process has adopted other children: of those that end meanwhile it takes the
// status, since no other process can.
func waitOthers(pid int) error {
	for {
		ended, _, err := waitID(unix.P_ALL, 0, unix.WEXITED|unix.WNOWAIT, nil)
		if err != nil || ended == pid {
			return err
		}
		waitID(unix.P_PID, ended, unix.WEXITED|unix.WNOHANG, nil)
	}
}

// reapAll takes the status of each child that ends, until there are no children.
func reapAll() {
	for {
		if _, _, err := waitID(unix.P_ALL, 0, unix.WEXITED, nil); err != nil {
			return
		}
	}
}

// waitID returns the process that changed state, 0 if none has.
func waitID(kind, id, options int, usage *syscall.Rusage) (int, syscall.WaitStatus, error) {
	var info struct { // siginfo_t of SIGCHLD
		signo, errno, code, _ int32
		pid, uid, status, _   int32
		_                     [96]byte
	}
	for {
		info.pid = 0
		err := unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&info)), options, (*unix.Rusage)(unsafe.Pointer(usage)))
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.pid == 0 {
			return 0, nothing, err
		}
		if info.code != trapped {
			break
		}
		// Another thread of this process has stopped it for a moment, to read its registers.
		if options&unix.WNOHANG != 0 {
			return 0, nothing, nil
		}
		time.Sleep(time.Millisecond)
	}
	pid := int(info.pid)
	switch status := syscall.WaitStatus(info.status); info.code {
	case exited:
		return pid, status & 0xff << 8, nil
	case killed:
		return pid, status & 0x7f, nil
	case dumped:
		return pid, status&0x7f | 0x80, nil
	case stopped:
		return pid, status&0xff<<8 | 0x7f, nil
	}
	return pid, nothing, nil
}

// Codes of SIGCHLD.
const (
	exited  = 1 // CLD_EXITED
	killed  = 2
	dumped  = 3
	trapped = 4
	stopped = 5
)
