//go:build linux

package sys

import "golang.org/x/sys/unix"

// Writable returns EBADF unless fd is open for writing.
func Writable(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags&unix.O_PATH != 0 || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return unix.EBADF
	}
	return nil
}

// Readable returns EBADF unless fd is open for reading.
func Readable(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags&unix.O_PATH != 0 || flags&unix.O_ACCMODE == unix.O_WRONLY {
		return unix.EBADF
	}
	return nil
}

// Dup duplicates fd; the new descriptor is closed on exec.
func Dup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) }
