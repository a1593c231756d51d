//go:build linux

package hang

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// A stop breaks off the system call that a thread waits in. Some calls the kernel restarts, as if nothing had
// been: those of which a thread may be stopped. Others fail with EINTR then (epoll_wait), start their time limit
// anew (a socket with SO_RCVTIMEO), or return what they have done so far (a write to a full pipe).

// unstoppable says why the thread is not stopped, or returns "".
func (t *thread) unstoppable() string {
	switch tracer := procfs.Tracer(t.TID); {
	case tracer != 0:
		return fmt.Sprintf("process %d traces it", procfs.Of(tracer))
	case t.State == 'T':
		return "it is stopped"
	case t.State == 'D':
		return "it sleeps uninterruptibly"
	case t.State != 'S', t.ran2:
		return "it may run"
	case !t.restarts():
		return "a stop would break off " + t.name
	}
	return ""
}

// restarts reports whether the kernel restarts the call after a stop, as if nothing had been.
func (t *thread) restarts() bool {
	fd := int(int32(t.args[0]))
	switch t.name {
	case "wait4", "waitid", "pause", "rt_sigsuspend", "flock", "msgrcv":
		return true
	case "select", "pselect6":
		return t.mayChange(t.args[4])
	case "ppoll":
		return t.mayChange(t.args[2])
	case "fcntl":
		return t.args[1] == unix.F_SETLKW || t.args[1] == unix.F_OFD_SETLKW
	case "futex":
		switch t.args[1] & futexCommand {
		case 0, 9, 6, 13: // FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI, FUTEX_LOCK_PI2
			return t.args[3] == 0 || t.continues()
		}
	case "poll", "nanosleep", "clock_nanosleep", "restart_syscall":
		return t.continues()
	case "read", "readv":
		if f, ok := (descriptor{t.PID, fd}).file(); ok && f.Mode&unix.S_IFMT == unix.S_IFIFO {
			return true
		}
		return unlimited(t.PID, fd)
	case "accept", "accept4":
		return unlimited(t.PID, fd)
	case "recvfrom":
		return t.args[3]&unix.MSG_WAITALL == 0 && unlimited(t.PID, fd)
	case "recvmsg":
		return t.args[2]&unix.MSG_WAITALL == 0 && unlimited(t.PID, fd)
	}
	return false
}

// mayChange reports whether the kernel may write the time that is left of a limit at this address: else the call
// would fail. One on the stack, where libraries copy it, is so; 0 is none.
func (t *thread) mayChange(limit uint64) bool {
	const near = 1 << 20
	return limit == 0 || limit-t.seen.SP+near < 2*near
}

// futexCommand is the part of the operation of futex(2) without flags.
const futexCommand = 0x7f

// continues reports whether the thread may make the call restart_syscall(2), by which the kernel continues
// calls with a time limit: a filter of its own may forbid it. One that this process has, too, as in a container,
// does not.
func (t *thread) continues() bool { return procfs.Filters(t.TID) <= procfs.Filters(os.Getpid()) }

// unlimited reports whether a descriptor of a process is a socket of which reads have no time limit, and begin
// with nothing.
func unlimited(pid, fd int) bool {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(p)
	s, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return false
	}
	defer unix.Close(s)
	switch domain, _ := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN); domain {
	case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK:
	default:
		return false
	}
	limit, err := unix.GetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if err != nil || *limit != (unix.Timeval{}) {
		return false
	}
	least, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	return err == nil && least <= 1
}
