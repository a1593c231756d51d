// Package reopen opens files that were looked at before.
//
// A name may be another file's by the time that it is opened. So who must not open just
// anything (a FIFO is its reader's, some devices are set off by it) gets a descriptor by
// O_PATH, which opens nothing, looks at that, and then opens what it stands for.
package reopen

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// File opens what an O_PATH descriptor stands for, whatever has its name by now. It does not
// wait, not even for a lease. The descriptor stays open; name is what the file is called in
// errors. An error is a bare errno.
func File(fd int, name string, flags int) (*os.File, error) {
	for {
		n, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			unix.SetNonblock(n, false) // that was for the opening only
			return os.NewFile(uintptr(n), name), nil
		case unix.EINTR:
		default:
			return nil, err
		}
	}
}
