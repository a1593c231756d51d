//go:build linux

// Files that the caller has inspected before.
//
// A name can refer to another file by the time it is opened, and opening an arbitrary file
// is not safe: opening a FIFO wakes its other end, and opening some devices starts them. So
// a caller gets an O_PATH descriptor, which opens nothing, inspects the file with fstat(2),
// and then opens that very file with Reopen. The spool and ptrace-dump open files so.

package procfs

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// File opens the file of an O_PATH descriptor, whichever file has its name now. It does not
// block, not even for a lease. The descriptor stays open. name is the name of the returned
// file. An error is a bare errno.
func Reopen(fd int, name string, flags int) (*os.File, error) {
	for {
		n, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			unix.SetNonblock(n, false) // only open itself must not block
			return os.NewFile(uintptr(n), name), nil
		case unix.EINTR:
		default:
			return nil, err
		}
	}
}
