//go:build linux

package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// File is the log file of a new stream.
type File struct {
	*os.File
	created bool // by Open: Discard removes it
	Held    bool // Begin replaces the old content
}

// Open opens the log of a new stream. It refuses a regular file if noClobber is set or a
// running stream records to it; otherwise Begin replaces its content.
func Open(path string, noClobber bool) (*File, error) {
	if path == "-" {
		return nil, cli.WithHint(cli.Failf("a log cannot be written to standard output, which is the command's"), "to read it while it is written: -o >(ptrace-dump -j -)")
	}
	// Opening a FIFO waits for its reader, as in a shell.
	const flags = unix.O_WRONLY | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_LARGEFILE
	created := true
	fd, err := openRetry(path, flags|unix.O_CREAT|unix.O_EXCL)
	if err == unix.EEXIST {
		created = false
		var st unix.Stat_t
		if noClobber && unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			return nil, cli.Failure(path, syscall.EEXIST)
		}
		// O_CREAT is for a dangling symbolic link.
		fd, err = openRetry(path, flags|unix.O_CREAT)
		if err == unix.EACCES && isSticky(path) {
			fd, err = openRetry(path, flags)
		}
	}
	if err != nil {
		return nil, cli.Failure(path, err)
	}
	l := &File{File: os.NewFile(uintptr(fd), path), created: created}
	if err := l.mayReplace(); err != nil {
		l.Close()
		return nil, err
	}
	l.Unblock()
	hideDescriptor(path)
	return l, nil
}

func openRetry(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags, 0o666)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// isSticky reports whether path exists, and fs.protected_regular or fs.protected_fifos made
// O_CREAT fail because another user owns it.
func isSticky(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// mayReplace refuses a regular file that a running stream records to.
func (l *File) mayReplace() error {
	fi, err := l.Stat()
	if err != nil || !fi.Mode().IsRegular() || l.created {
		return cli.Failure(l.Name(), err)
	}
	if s := RecordedBy(fi); s != nil {
		return RecordedFault(l.Name(), s)
	}
	l.Held = true
	return nil
}

// Unblock makes a log that is not a regular file non-blocking, so that waiting for its
// reader can end (posixtrace.Stream.SetLogTimeout). No other process shares the open file.
func (l *File) Unblock() {
	if fi, err := l.Stat(); err == nil && !fi.Mode().IsRegular() {
		if c, err := l.SyscallConn(); err == nil {
			c.Control(func(fd uintptr) { unix.SetNonblock(int(fd), true) })
		}
	}
}

// Grace is how long the reader of a log may stall after the command ran out of time or a
// signal asked for the end.
const Grace = time.Second

// Begin starts the log of a stream in place of the old content. Call it when nothing else
// can fail.
func (l *File) Begin(s *posixtrace.Stream) error {
	if l == nil || !l.Held {
		return nil
	}
	l.Held = false
	return s.BeginLog()
}

// CheckNoLog refuses a file that a running stream records to.
func CheckNoLog(path string, fi os.FileInfo) error {
	if s := RecordedBy(fi); s != nil {
		return RecordedFault(path, s)
	}
	return nil
}

// Discard closes the log of a stream that was not created, and removes it if Open created
// it.
func (l *File) Discard() {
	if l == nil {
		return
	}
	if l.created {
		l.remove()
	}
	l.Close()
}

// remove removes the file by its name unless the name refers to another file now.
func (l *File) remove() {
	dir, err := unix.Open(filepath.Dir(l.Name()), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	name := filepath.Base(l.Name())
	var ours, there unix.Stat_t
	if unix.Fstat(int(l.Fd()), &ours) == nil && unix.Fstatat(dir, name, &there, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		ours.Dev == there.Dev && ours.Ino == there.Ino {
		unix.Unlinkat(dir, name, 0)
	}
}

// hideDescriptor closes the descriptor behind a path like /dev/fd/63, to which the shell
// expands >(...). If the command inherited it, the reader would wait for the command's
// children.
func hideDescriptor(path string) {
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if n, ok := strings.CutPrefix(path, dir); ok {
			if fd, err := strconv.Atoi(n); err == nil && fd > 2 {
				unix.Close(fd)
			}
		}
	}
}

// Fault explains why a stream with a log failed: in the system's words if the log is the
// cause, else in the stream's.
func Fault(path string, err error) error {
	var e *posixtrace.Error
	if path == "" || !errors.As(err, &e) || errors.Is(err, posixtrace.ErrDirectory) {
		return cli.Failure(path, err)
	}
	var file *fs.PathError
	switch e.Err {
	case syscall.EIO:
		if errors.As(err, &file) {
			return cli.Failure(path, e.Err)
		}
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EPIPE:
		return cli.Failure(path, e.Err)
	case syscall.ETIMEDOUT:
		return cli.Failf("%s: the log's reader does not read", path)
	case syscall.EINVAL, syscall.EBADF:
		return cli.Failure(path, err)
	}
	return cli.Failure("", err)
}
