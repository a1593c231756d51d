//go:build unix && !linux

package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DupForReading duplicates the descriptor of f, which must be open for reading.
func DupForReading(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, unix.EBADF)
	}
	var dup int
	var failed error
	err = conn.Control(func(fd uintptr) {
		var flags int
		if flags, failed = unix.FcntlInt(fd, unix.F_GETFL, 0); failed != nil {
			return
		}
		if flags&unix.O_ACCMODE == unix.O_WRONLY {
			failed = unix.EBADF
			return
		}
		dup, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	})
	if err != nil { // f is closed
		return nil, fmt.Errorf("%w: %w", err, unix.EBADF)
	}
	if failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(dup), f.Name()), nil
}
