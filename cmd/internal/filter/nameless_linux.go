package filter

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const noTerminal = unix.O_NOCTTY

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// openNameless creates a file without a name in dir, and returns nil if the file system cannot.
func openNameless(dir, name string, mode os.FileMode) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(mode))
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), name), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL:
		return nil, nil
	}
	return nil, err
}

// linkNameless gives such a file a name.
func linkNameless(f *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

func umask() os.FileMode {
	mask := unix.Umask(0)
	unix.Umask(mask)
	return os.FileMode(mask)
}
