package openlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// wouldBlock reports whether a read of f would wait.
func wouldBlock(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n == 0 && err == nil
}

// stopped waits until f can be read or the other end of stop is closed, and reports whether that was
// so.
func stopped(f, stop *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd())}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return fds[1].Revents != 0
		}
	}
}
