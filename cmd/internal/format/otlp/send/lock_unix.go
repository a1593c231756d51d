//go:build unix

package send

import (
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lock locks a file against other exports, and does not wait for them.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// isOurs reports whether a file is this user's, and has not been removed.
func isOurs(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0 && int(st.Uid) == os.Geteuid()
}

// remove removes a file while it is locked.
func remove(f *os.File) error { return os.Remove(f.Name()) }

// rename gives a file another name while it is locked.
func rename(f *os.File, name string) error { return os.Rename(f.Name(), name) }
