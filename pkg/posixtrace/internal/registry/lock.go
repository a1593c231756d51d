package registry

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// lockFile is never removed by this package: two processes must not lock two files of that name.
const lockFile = "lock"

// Lock takes the lock of the directory, which also excludes other goroutines of this process. The
// kernel drops it when the process dies. Never take it on behalf of a traced process: its holder
// may be stopped.
func (d *Dir) Lock() (unlock func(), err error) { return d.lock(true) }

// TryLock locks the directory, or fails with EAGAIN instead of waiting.
func (d *Dir) TryLock() (unlock func(), err error) { return d.lock(false) }

func (d *Dir) lock(wait bool) (func(), error) {
	// flock already excludes other goroutines; the mutex orders their memory accesses as the
	// memory model requires.
	if wait {
		d.mu.Lock()
	} else if !d.mu.TryLock() {
		return nil, fmt.Errorf("lock %s: %w", d.path, syscall.EAGAIN)
	}
	unlock, err := d.lockFile(wait)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	return sync.OnceFunc(func() {
		unlock()
		d.mu.Unlock()
	}), nil
}

func (d *Dir) lockFile(wait bool) (func(), error) {
	for range lockTries {
		f, err := d.openOwn(lockFile, os.O_RDWR|os.O_CREATE)
		if err != nil {
			if d.Gone() {
				err = fmt.Errorf("lock %s: %w", d.path, ErrGone)
			}
			return nil, err
		}
		if err := sys.Flock(f, true, wait); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", d.path, err)
		}
		unlock := func() {
			// Close is not enough: a child that is being started may still have a copy
			// of the descriptor.
			sys.Funlock(f)
			f.Close()
		}
		if st, err := sys.Fstat(f); err != nil || st.Nlink > 0 {
			return unlock, nil
		}
		unlock() // removed while we waited: others lock a new file
	}
	return nil, fmt.Errorf("lock %s: %w", d.path, syscall.EAGAIN)
}

// lockTries bounds how often lockFile retries because the file was removed.
const lockTries = 16
