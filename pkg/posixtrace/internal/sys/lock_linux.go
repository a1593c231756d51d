package sys

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Flock locks the open file description of f (flock(2)): it excludes other
// descriptions, of this process too, and ends with the last descriptor of f,
// however its holders die. Without wait it fails with EAGAIN when another
// holds the lock.
func Flock(f *os.File, exclusive, wait bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	return flock(f, how)
}

// Funlock gives the lock back at once, also when a child that is about to exec
// still has the descriptor.
func Funlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	err := retry(func() error { return unix.Flock(int(f.Fd()), how) })
	runtime.KeepAlive(f)
	return err
}
