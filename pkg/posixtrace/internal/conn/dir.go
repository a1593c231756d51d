package conn

import (
	"errors"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// OpenDir returns the trace directory of this process: that of its first use. A later change of $PTRACE_DIR
// has no effect, as trace points are where they are. OpenDir opens a directory again after a failure, and
// after the directory was removed.
func OpenDir() (*registry.Dir, error) {
	dirs.mu.Lock()
	defer dirs.mu.Unlock()
	if dirs.dir == nil || dirs.dir.Gone() {
		d, err := registry.Open()
		if err != nil {
			return nil, OfDir(err)
		}
		d.FamilyOf = func(id uint64) (uint64, error) {
			c, err := Open(d, id)
			if err != nil {
				return 0, err
			}
			defer c.Release()
			return c.Mem.Family(), nil
		}
		dirs.dir = d
	}
	return dirs.dir, nil
}

// ForgetDir is tool.ForgetDirectory.
func ForgetDir() {
	dirs.mu.Lock()
	defer dirs.mu.Unlock()
	dirs.dir = nil
}

var dirs struct {
	mu  sync.Mutex
	dir *registry.Dir
}

// DirError is an error about the trace directory.
type DirError struct{ err error }

func (e *DirError) Error() string { return e.err.Error() }
func (e *DirError) Unwrap() error { return e.err }

// OfDir marks an error of the trace directory. An ended process and a limit of the package are none.
func OfDir(err error) error {
	for _, no := range []syscall.Errno{syscall.ESRCH, syscall.EAGAIN, syscall.EEXIST, syscall.ESTALE} {
		if errors.Is(err, no) {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return &DirError{err}
}
