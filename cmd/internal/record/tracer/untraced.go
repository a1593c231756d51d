//go:build linux

package tracer

import (
	"encoding/binary"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// watchersAtMost bounds the processes that are watched at a time: each takes a thread.
const watchersAtMost = 128

// end is the end of a process that runs untraced.
type end struct {
	k      *task
	status syscall.WaitStatus
}

// watchEnd makes the loop record the end of a process that runs untraced and whose parent, such as
// make, blocks SIGCHLD. The status is that of the zombie, or since Linux 6.15 that of the pidfd; if
// the parent was faster, the end is not recorded.
func (t *tracer) watchEnd(k *task) {
	if t.watchers.Load() >= watchersAtMost {
		return
	}
	fd, err := unix.PidfdOpen(k.pid, 0)
	if err != nil {
		return
	}
	t.watchers.Add(1)
	go func() {
		defer t.watchers.Add(-1)
		defer unix.Close(fd)
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); err != unix.EINTR {
				break
			}
		}
		for range endPauses {
			time.Sleep(endPause) // the signal to the parent, if it gets one, says more
			if status, ok := exitCode(fd, k.pid); ok {
				t.ends <- end{k, status}
				t.raise(&t.gone)
				return
			}
		}
	}()
}

// How often, and in which intervals, the status of a process that has ended is asked for.
const (
	endPause  = time.Millisecond
	endPauses = 20
)

// awaitEnds records the ends of processes that ended just before the tracer releases.
func (t *tracer) awaitEnds() {
	for range endPauses {
		t.takeEnds()
		missing := false
		for pid := range t.untraced {
			missing = missing || !running(pid)
		}
		if !missing {
			return
		}
		time.Sleep(endPause)
	}
}

// takeEnds records the ends that are not recorded yet.
func (t *tracer) takeEnds() {
	t.gone.Store(false)
	for {
		select {
		case e := <-t.ends:
			if t.untraced[e.k.pid] == e.k {
				delete(t.untraced, e.k.pid)
				t.ended(e.k, e.status, &usage{})
			}
		default:
			return
		}
	}
}

// exitCode returns the wait status of a process that has ended.
func exitCode(fd, pid int) (status syscall.WaitStatus, ok bool) {
	const field = 49 // exit_code, of those after the name
	if f := procfs.StatFields(pid); len(f) > field && f[0] == "Z" {
		n, err := strconv.Atoi(f[field])
		return syscall.WaitStatus(n), err == nil
	}
	const (
		getInfo  = 0xc040ff0b // PIDFD_GET_INFO
		infoExit = 8          // PIDFD_INFO_EXIT
		code     = 60         // its offset
	)
	var info [64]byte // struct pidfd_info
	binary.NativeEndian.PutUint64(info[:], infoExit)
	_, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getInfo, uintptr(unsafe.Pointer(&info)))
	if no != 0 || binary.NativeEndian.Uint64(info[:])&infoExit == 0 {
		return 0, false
	}
	return syscall.WaitStatus(binary.NativeEndian.Uint32(info[code:])), true
}
