package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Dir is the trace directory of a user. It is safe for concurrent use.
type Dir struct {
	f    *os.File // every file is opened relative to it, so nobody can slip in another
	path string
	mu   sync.Mutex // see Lock

	// FamilyOf returns the family of a stream, which is in its file. Without it names are
	// swept on the way only while there is no stream. It is set before the Dir is used.
	FamilyOf func(stream uint64) (family uint64, err error)
}

// Open opens the trace directory of the effective user and makes it if need be:
// $PTRACE_DIR, else the first of /dev/shm/posixtrace-UID,
// $XDG_RUNTIME_DIR/posixtrace and $TMPDIR/posixtrace-UID whose parent can be
// used. For a set-uid or set-gid program it is the first of these whatever the
// environment says. A directory that others could have put there or could write to is
// refused, never passed over for the next: all processes of a user must agree.
//
// Errors: EACCES not ours or open to others; ELOOP a symbolic link; ENOTDIR.
func Open() (*Dir, error) {
	name := "posixtrace-" + strconv.Itoa(os.Geteuid())
	places := []string{filepath.Join("/dev/shm", name)}
	if sys.Secure() {
		return openFirst(places) // a set-uid program must not write where it is told to
	}
	if path := os.Getenv("PTRACE_DIR"); path != "" {
		return openDir(path)
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		places = append(places, filepath.Join(run, "posixtrace"))
	}
	return openFirst(append(places, filepath.Join(os.TempDir(), name)))
}

func openFirst(places []string) (d *Dir, err error) {
	for _, path := range places {
		if d, err = openDir(path); err == nil || !errors.Is(err, errParent) {
			return d, err
		}
	}
	return nil, err
}

// errParent marks a place where no directory can be made.
var errParent = errors.New("no room for a trace directory")

// parentError is an error with that mark.
type parentError struct{ err error }

func (e *parentError) Error() string        { return e.err.Error() }
func (e *parentError) Unwrap() error        { return e.err }
func (e *parentError) Is(target error) bool { return target == errParent }

func openDir(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("trace directory: %w", err)
	}
	f, st, err := sys.OpenDir(path, true)
	if errors.Is(err, syscall.ENOENT) {
		switch e := os.Mkdir(path, 0o700); {
		case e == nil, errors.Is(e, syscall.EEXIST):
			f, st, err = sys.OpenDir(path, true)
		case errors.Is(e, syscall.ENOENT), errors.Is(e, syscall.ENOTDIR), errors.Is(e, syscall.EROFS),
			errors.Is(e, syscall.EACCES), errors.Is(e, syscall.EPERM):
			return nil, fmt.Errorf("trace directory: %w", &parentError{e})
		default:
			return nil, fmt.Errorf("trace directory: %w", e)
		}
	}
	if err != nil && st.Mode == 0 { // it was not even reached
		return nil, fmt.Errorf("trace directory %s: %w", path, &parentError{err})
	}
	if err := unsafeDir(path, &st, err); err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &Dir{f: f, path: path}, nil
}

// unsafeDir returns why a directory, which was opened with err, is not to be used.
func unsafeDir(path string, st *sys.FileStat, err error) error {
	switch {
	case errors.Is(err, syscall.ELOOP):
		return refuse(path, "a symbolic link", syscall.ELOOP)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("trace directory %s refused: %w", path, syscall.ENOTDIR)
	case st.IsDir() && st.UID != uint32(os.Geteuid()):
		return refuse(path, "owned by another user", syscall.EACCES)
	case st.IsDir() && st.Perm()&0o77 != 0:
		return refuse(path, fmt.Sprintf("open to others (mode %04o)", st.Perm()), syscall.EACCES)
	case err != nil:
		return fmt.Errorf("trace directory %s: %w", path, err)
	}
	return nil
}

func refuse(path, why string, no syscall.Errno) error {
	return fmt.Errorf("trace directory %s refused: %s: %w", path, why, no)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Close gives up the directory. Pages and names opened in it go on to work.
func (d *Dir) Close() error { return d.f.Close() }

// ErrGone is in the chain of errors about a trace directory that was removed.
var ErrGone = fmt.Errorf("the trace directory was removed: %w", syscall.ENOENT)

// Gone reports whether the directory was removed since it was opened. Another may have its
// path by now.
func (d *Dir) Gone() bool {
	st, err := sys.Fstat(d.f)
	return err == nil && st.Nlink == 0
}

// names lists the files in the directory.
func (d *Dir) names() ([]string, error) {
	// The position in a directory belongs to the open file, so each listing has its own.
	f, err := sys.OpenAt(d.f, ".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("trace directory %s: %w", d.path, err)
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
