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
	f    *os.File // files are opened relative to it, so that no other directory can take its place
	path string
	mu   sync.Mutex // see Lock

	// FamilyOf returns the family of a stream from its file. If it is nil, tidy sweeps names
	// only while there is no stream. It must be set before the Dir is used.
	FamilyOf func(stream uint64) (family uint64, err error)
}

// Open opens the trace directory of the effective user, and creates it if there is none:
// $PTRACE_DIR, else the first of /dev/shm/posixtrace-UID, $XDG_RUNTIME_DIR/posixtrace and
// $TMPDIR/posixtrace-UID whose parent can be used. For a set-uid or set-gid program it is the first
// of these, whatever the environment says. Open refuses a directory that other users could have
// made or could write to, and does not try the next: all processes of a user must agree.
//
// Errors: EACCES not ours or open to others; ELOOP a symbolic link; ENOTDIR.
func Open() (*Dir, error) {
	name := "posixtrace-" + strconv.Itoa(os.Geteuid())
	places := []string{filepath.Join("/dev/shm", name)}
	if sys.Secure() {
		return openFirst(places) // a set-uid program must not write where its environment says
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

// errParent marks a parent in which no directory can be made.
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
	if err != nil && st.Mode == 0 { // not even its status is known
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

// unsafeDir returns why a directory must not be used. err is that of opening it.
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

// Close closes the directory. Pages and names opened in it remain valid.
func (d *Dir) Close() error { return d.f.Close() }

// ErrGone is wrapped by errors about a trace directory that was removed.
var ErrGone = sys.Wrap("the trace directory was removed", syscall.ENOENT)

// Gone reports whether the directory was removed since it was opened. Its path may be that of
// another directory now.
func (d *Dir) Gone() bool {
	st, err := sys.Fstat(d.f)
	return err == nil && st.Nlink == 0
}

// names lists the files in the directory.
func (d *Dir) names() ([]string, error) {
	// The read position belongs to the open file description, so each listing opens its own.
	f, err := sys.OpenAt(d.f, ".", os.O_RDONLY|sys.Directory, 0)
	if err != nil {
		return nil, fmt.Errorf("trace directory %s: %w", d.path, err)
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
