package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Directory is the flag O_DIRECTORY of open(2).
const Directory = unix.O_DIRECTORY

func fileStat(st *unix.Stat_t) FileStat {
	return FileStat{
		Mode: st.Mode, UID: st.Uid, Nlink: uint64(st.Nlink), Size: st.Size,
		Ino: st.Ino, Dev: uint64(st.Dev), Mtime: time.Unix(st.Mtim.Unix()),
	}
}

// StatOf converts a status of the os package.
func StatOf(fi fs.FileInfo) *FileStat {
	s := fi.Sys().(*syscall.Stat_t)
	return &FileStat{
		Mode: s.Mode, UID: s.Uid, Nlink: uint64(s.Nlink), Size: s.Size,
		Ino: s.Ino, Dev: uint64(s.Dev), Mtime: fi.ModTime(),
	}
}

// Fstat returns the status of an open file.
func Fstat(f *os.File) (FileStat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	runtime.KeepAlive(f)
	return fileStat(&st), err
}

// StatAt returns the status of the file name in dir; it does not follow a link.
func StatAt(dir *os.File, name string) (FileStat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	runtime.KeepAlive(dir)
	return fileStat(&st), err
}

// OpenDir opens a directory and returns its status. It never follows a link in the last element of
// path. With mend it restores the owner's permission bits that a umask took from a directory of the
// caller's.
func OpenDir(path string, mend bool) (*os.File, FileStat, error) {
	fd, err := retryInt(func() (int, error) {
		return unix.Open(filepath.Clean(path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, FileStat{}, err
	}
	at := os.NewFile(uintptr(fd), path)
	defer at.Close()
	st, err := Fstat(at)
	if err != nil {
		return nil, st, err
	}
	switch {
	case st.Symlink():
		return nil, st, unix.ELOOP
	case !st.IsDir():
		return nil, st, unix.ENOTDIR
	case mend && st.UID == uint32(os.Geteuid()) && st.Perm()&0o77 == 0 && st.Perm() != 0o700:
		// fchmod does not work on an O_PATH descriptor.
		if err := os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700); err == nil {
			st, _ = Fstat(at)
		}
	}
	dir, err := OpenAt(at, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	runtime.KeepAlive(at)
	if err != nil {
		return nil, st, err
	}
	return dir, st, nil
}

// OpenAt opens name in dir, always with O_NOFOLLOW and O_CLOEXEC.
func OpenAt(dir *os.File, name string, flags int, perm uint32) (*os.File, error) {
	fd, err := retryInt(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	})
	runtime.KeepAlive(dir)
	if err != nil {
		return nil, err
	}
	return newFile(fd, filepath.Join(dir.Name(), name), flags), nil
}

// openTries bounds the attempts to open a file that other processes keep replacing.
const openTries = 16

// OpenChecked opens name in dir (nil: name is a path) unless check, which gets the file's status,
// returns an error. It does not follow a link, and with O_CREATE creates the file if there is none.
// It checks a file before it opens it: opening alone triggers some devices, and wakes a process
// that waits in a FIFO. It opens the file that it checked, even if another file has the name by
// then.
func OpenChecked(dir *os.File, name string, flags int, perm uint32, check func(st *FileStat) error) (*os.File, error) {
	at, path := unix.AT_FDCWD, name
	if dir != nil {
		at, path = int(dir.Fd()), filepath.Join(dir.Name(), name)
		defer runtime.KeepAlive(dir)
	}
	open := func(name string, flags int) (int, error) {
		return retryInt(func() (int, error) { return unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm) })
	}
	err := error(unix.ENOENT)
	for range openTries {
		var fd int
		fd, err = open(name, unix.O_PATH)
		if err == unix.ENOENT && flags&unix.O_CREAT != 0 {
			if fd, err = open(name, flags|unix.O_EXCL); err == unix.EEXIST {
				continue
			} else if err == nil {
				return newFile(fd, path, flags), nil
			}
		}
		if err != nil {
			return nil, err
		}
		// The name decides whether the file has another one: a link that was followed may
		// have been removed since.
		var st unix.Stat_t
		err = retry(func() error { return unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if err == nil {
			fd, err = openPathFD(fd, flags&^unix.O_CREAT, &st, check)
		} else {
			unix.Close(fd)
		}
		if err == errSwapped || err == unix.ENOENT && flags&unix.O_CREAT != 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return newFile(fd, path, flags), nil
	}
	return nil, err
}

// OpenForReading opens a file like OpenChecked, for reading, and follows links.
func OpenForReading(path string, check func(st *FileStat) error) (*os.File, error) {
	fd, err := retryInt(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err == nil {
		fd, err = openPathFD(fd, unix.O_RDONLY, nil, check)
	}
	if err != nil {
		return nil, err
	}
	return newFile(fd, path, unix.O_NONBLOCK), nil
}

// errSwapped says that the name has become another file's.
const errSwapped = unix.ESTALE

// openPathFD opens the file of the O_PATH descriptor at, which it closes, if the name was found to
// be that file.
func openPathFD(at, flags int, named *unix.Stat_t, check func(st *FileStat) error) (fd int, err error) {
	defer unix.Close(at)
	var now unix.Stat_t
	if err := retry(func() error { return unix.Fstat(at, &now) }); err != nil {
		return -1, err
	}
	if named == nil {
		named = &now
	}
	if named.Ino != now.Ino || named.Dev != now.Dev {
		return -1, errSwapped
	}
	st := fileStat(named)
	switch {
	case st.Symlink():
		return -1, unix.ELOOP
	case st.IsDir() && flags&unix.O_ACCMODE != unix.O_RDONLY:
		return -1, unix.EISDIR
	case st.Nlink == 0:
		return -1, unix.ENOENT
	}
	if err := check(&st); err != nil {
		return -1, err
	}
	// O_NONBLOCK: do not even wait for a lease.
	fd, err = retryInt(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(at), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOENT {
		err = errNoProc
	}
	return fd, err
}

var errNoProc = Wrap("/proc is not mounted", unix.ENOSYS)

// newFile wraps a descriptor in a file. O_NONBLOCK is for the open only, which might wait if the
// file is a FIFO; left on, it would make the os package start its poller, for files that cannot be
// polled.
func newFile(fd int, name string, flags int) *os.File {
	if flags&unix.O_NONBLOCK != 0 {
		unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^unix.O_NONBLOCK)
	}
	return os.NewFile(uintptr(fd), name)
}

// OpenFile opens a path like OpenAt.
func OpenFile(path string, flags int, perm uint32) (*os.File, error) {
	fd, err := retryInt(func() (int, error) {
		return unix.Open(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	})
	if err != nil {
		return nil, err
	}
	return newFile(fd, path, flags), nil
}

// RenameNoReplace renames a file within dir. It fails with EEXIST when the new name exists.
func RenameNoReplace(dir *os.File, from, to string) error {
	defer runtime.KeepAlive(dir)
	fd := int(dir.Fd())
	err := retry(func() error { return renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE) })
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) { // a sandbox may refuse it
		return err
	}
	return renameChecked(dir, from, to)
}

// renameWait bounds the wait for another process that renames a file, unless it is stopped.
const renameWait = 5 * time.Millisecond

var renameat2 = unix.Renameat2 // a variable for tests: few file systems lack it

// renameChecked renames like RenameNoReplace on a file system that lacks it, as many in user space do.
// Linking the new name and unlinking the old one would work on others, but some keep a name for a
// file that is open (.fuse_hidden..., .nfs...), and the registry refuses a file with two names. So
// callers exclude each other by a lock on the directory.
func renameChecked(dir *os.File, from, to string) error {
	defer runtime.KeepAlive(dir)
	fd := int(dir.Fd())
	at, err := OpenAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer at.Close()
	switch err := FlockWithin(at, renameWait); {
	case err == nil:
	case errors.Is(err, unix.EAGAIN):
		return err
	default: // on NFS, a directory cannot be locked
		if err := retry(func() error { return unix.Linkat(fd, from, fd, to, 0) }); err != nil {
			return err
		}
		return UnlinkAt(dir, from)
	}
	if _, err := StatAt(dir, to); err == nil {
		return unix.EEXIST
	} else if !errors.Is(err, unix.ENOENT) {
		return err
	}
	return retry(func() error { return unix.Renameat(fd, from, fd, to) })
}

// UnlinkAt removes the file name from dir.
func UnlinkAt(dir *os.File, name string) error {
	err := retry(func() error { return unix.Unlinkat(int(dir.Fd()), name, 0) })
	runtime.KeepAlive(dir)
	return err
}

// RemoveDirAt removes the empty directory name from dir.
func RemoveDirAt(dir *os.File, name string) error {
	err := retry(func() error { return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR) })
	runtime.KeepAlive(dir)
	return err
}
