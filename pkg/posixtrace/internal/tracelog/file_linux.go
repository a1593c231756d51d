package tracelog

import (
	"io/fs"
	"os"
	"syscall"
)

// hasType reports whether a file that os takes for a regular one has that type. An anonymous file, such
// as an eventfd, has none.
func hasType(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Mode&syscall.S_IFMT == syscall.S_IFREG
}

func openFlags(f *os.File) (int, error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var flags uintptr
	var no syscall.Errno
	if err := c.Control(func(fd uintptr) {
		flags, _, no = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
	}); err != nil {
		return 0, err
	}
	if no != 0 {
		return 0, no
	}
	return int(flags), nil
}

// allocateAll allocates space for the first size bytes of f and returns its length, which does not
// change. It fails with ENOSPC before it tries if that much is not free: some file systems allocate
// all free space before they find that it is not enough. The file may have its space already.
func allocateAll(f *os.File, size int64) (length int64, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var st syscall.Stat_t
	var fs syscall.Statfs_t
	if cerr := c.Control(func(fd uintptr) {
		if err = syscall.Fstat(int(fd), &st); err != nil {
			return
		}
		if syscall.Fstatfs(int(fd), &fs) == nil && fs.Blocks > 0 &&
			(size-st.Blocks*512)/int64(fs.Bsize) > int64(fs.Bavail) {
			err = syscall.ENOSPC
			return
		}
		err = allocateFD(fd, 0, size)
	}); cerr != nil {
		err = cerr
	}
	return st.Size, err
}

// allocate allocates the space of a part of a file, whose length does not change.
func allocate(f *os.File, from, to int64) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := c.Control(func(fd uintptr) { err = allocateFD(fd, from, to) }); cerr != nil {
		return cerr
	}
	return err
}

func allocateFD(fd uintptr, from, to int64) error {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	for {
		if err := syscall.Fallocate(int(fd), keepSize, from, to-from); err != syscall.EINTR {
			return err
		}
	}
}
