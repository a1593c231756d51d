package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Any process of the user may change the contents of a trace directory at any time. So a
// directory is opened once, without following symbolic links, and files are opened relative
// to its descriptor. A file is inspected before it is opened, and then opened through the
// inspected descriptor (package procfs), whichever file has its name by then.

// dir is the open directory of a spool.
type dir struct {
	f     *os.File
	owner uint32
	name  string // of the file that shells append to
}

var errNotSpool = errors.New("not a spool")

func (d *dir) close() { d.f.Close() }

func (d *dir) fd() int { return int(d.f.Fd()) }

// openAt opens a directory. It does not follow a symbolic link in the last component.
func openAt(at int, name string) (int, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOTDIR || err == unix.ELOOP {
		err = fmt.Errorf("%s: %w", name, errNotSpool)
	}
	return fd, err
}

// inParent calls f with a descriptor of the parent directory of path, and the name there.
func inParent(path string, f func(at int, name string) error) error {
	at, err := openAt(unix.AT_FDCWD, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return f(at, filepath.Base(path))
}

// openFD opens the file of an O_PATH descriptor.
func openFD(fd int, name string, flags int) (*os.File, error) {
	f, err := procfs.Reopen(fd, name, flags)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// makeDir makes the directory at path, with mode 0700 whatever the umask.
func makeDir(path string) (d *dir, err error) {
	err = inParent(path, func(at int, name string) error {
		if err := unix.Mkdirat(at, name, 0o700); err != nil {
			return err
		}
		d, err = openDirAt(at, name, path)
		return err
	})
	return d, err
}

// openDir opens the directory at path.
func openDir(path string) (d *dir, err error) {
	err = inParent(path, func(at int, name string) error {
		d, err = openDirAt(at, name, path)
		return err
	})
	return d, err
}

func openDirAt(at int, name, path string) (*dir, error) {
	fd, err := openAt(at, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&0o022 != 0 || int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return nil, fmt.Errorf("%s: %w", path, errNotSpool)
	}
	if int(st.Uid) == os.Geteuid() && st.Mode&0o777 != 0o700 {
		// The umask may have removed permissions of the owner.
		unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
	}
	f, err := openFD(fd, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return &dir{f: f, owner: st.Uid}, nil
}

// file opens a file of the spool. It refuses anything but a regular file of the spool's
// owner with a single name. A file with a second link may belong elsewhere: file does not
// open it at all, since that could break a lease.
func (d *dir) file(name string, flags int) (*os.File, os.FileInfo, error) {
	for range 16 {
		f, fi, err := d.existing(name, flags&^os.O_CREATE, 1)
		if flags&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
			return f, fi, err
		}
		if f, err = d.create(name, flags&^os.O_CREATE); err == nil {
			fi, err = f.Stat()
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, fi, err
		}
	}
	return nil, nil, fmt.Errorf("%s: %w", name, errNotSpool)
}

// existing opens a file that exists and has at most this many names.
func (d *dir) existing(name string, flags, names int) (*os.File, os.FileInfo, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(d.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var open unix.Stat_t
	if err := unix.Fstat(fd, &open); err != nil {
		return nil, nil, err
	}
	// Check the link count through the name: a planted link may have been removed since
	// openat followed it, and the descriptor would then show a single link.
	st, err := d.stat(name)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Ino != open.Ino || st.Dev != open.Dev || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != d.owner || uint64(st.Nlink) > uint64(names) {
		return nil, nil, fmt.Errorf("%s: %w", name, errNotSpool)
	}
	f, err := openFD(fd, name, flags)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// create creates a file, which must not exist, with mode 0600 whatever the umask.
func (d *dir) create(name string, flags int) (*os.File, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(d.fd(), name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// stat returns the status of a file, of a symbolic link itself.
func (d *dir) stat(name string) (st unix.Stat_t, err error) {
	return st, unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
}

// inode returns the inode number of a file.
func inode(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func (d *dir) remove(name string) error { return unix.Unlinkat(d.fd(), name, 0) }

func (d *dir) link(from, to string) error { return unix.Linkat(d.fd(), from, d.fd(), to, 0) }

func (d *dir) rename(from, to string) error { return unix.Renameat(d.fd(), from, d.fd(), to) }

// again repeats a call that a signal has interrupted.
func again(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}
