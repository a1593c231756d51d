//go:build unix

package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DupForReading duplicates the descriptor of f, which must be open for reading; the new one is
// closed on exec. An error matches EBADF, or is that of the duplication.
func DupForReading(f *os.File) (*os.File, error) { return dupUnless(f, unix.O_WRONLY) }

// DupForWriting duplicates the descriptor of a file that must be open for writing.
func DupForWriting(f *os.File) (*os.File, error) { return dupUnless(f, unix.O_RDONLY) }

// dupUnless duplicates the descriptor of f, but not one of the access mode wrong or of O_PATH, which Linux has.
func dupUnless(f *os.File, wrong int) (*os.File, error) {
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
		if flags&oPath != 0 || flags&unix.O_ACCMODE == wrong {
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
