//go:build !linux

package sys

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Streams need shared memory, locks and /proc as Linux has them. On other systems the package reads
// and writes logs. Whatever a stream needs fails with errElsewhere there.
var errElsewhere = Wrap("streams need Linux", syscall.ENOSYS)

// Directory is the flag O_DIRECTORY of open(2) where there is one.
const Directory = 0

// statOf converts a status of the os package. It leaves out what the reader of a log does not need.
func statOf(fi fs.FileInfo) FileStat {
	st := FileStat{Mode: uint32(fi.Mode().Perm()), Nlink: 1, Size: fi.Size(), Mtime: fi.ModTime()}
	switch fi.Mode().Type() {
	case 0:
		st.Mode |= typeRegular
	case fs.ModeDir:
		st.Mode |= typeDir
	case fs.ModeSymlink:
		st.Mode |= typeLink
	}
	return st
}

// StatOf converts a status of the os package.
func StatOf(fi fs.FileInfo) *FileStat {
	st := statOf(fi)
	return &st
}

// Fstat returns the status of an open file.
func Fstat(f *os.File) (FileStat, error) {
	fi, err := f.Stat()
	if err != nil {
		return FileStat{}, err
	}
	return statOf(fi), nil
}

// OpenForReading opens path unless check, which gets the file's status, returns an error.
func OpenForReading(path string, check func(st *FileStat) error) (*os.File, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := check(StatOf(fi)); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Free returns false: the free space of the file system of f is not known.
func Free(*os.File) (bytes int64, ok bool) { return 0, false }

// StatAt fails.
func StatAt(*os.File, string) (FileStat, error) { return FileStat{}, errElsewhere }

// OpenDir fails.
func OpenDir(string, bool) (*os.File, FileStat, error) { return nil, FileStat{}, errElsewhere }

// OpenAt fails.
func OpenAt(*os.File, string, int, uint32) (*os.File, error) { return nil, errElsewhere }

// OpenChecked fails.
func OpenChecked(*os.File, string, int, uint32, func(*FileStat) error) (*os.File, error) {
	return nil, errElsewhere
}

// OpenFile fails.
func OpenFile(string, int, uint32) (*os.File, error) { return nil, errElsewhere }

// RenameNoReplace fails.
func RenameNoReplace(*os.File, string, string) error { return errElsewhere }

// UnlinkAt fails.
func UnlinkAt(*os.File, string) error { return errElsewhere }

// RemoveDirAt fails.
func RemoveDirAt(*os.File, string) error { return errElsewhere }

// OpenRemoved returns no files.
func OpenRemoved(int, func(string) bool) []*os.File { return nil }

// MapsRemoved returns false.
func MapsRemoved(int, string) bool { return false }

// Flock fails.
func Flock(*os.File, bool, bool) error { return errElsewhere }

// FlockWithin fails.
func FlockWithin(*os.File, time.Duration) error { return errElsewhere }

// Funlock fails.
func Funlock(*os.File) error { return errElsewhere }

// Hold fails.
func Hold(*os.File) error { return errElsewhere }

// HoldAs fails.
func HoldAs(*os.File, uint64) error { return errElsewhere }

// HoldShared fails.
func HoldShared(*os.File) error { return errElsewhere }

// HoldSharedAs fails.
func HoldSharedAs(*os.File, uint64) error { return errElsewhere }

// ReleaseAs fails.
func ReleaseAs(*os.File, uint64) error { return errElsewhere }

// Held returns true, as it does where it cannot find out.
func Held(*os.File) bool { return true }

// HeldAs returns true.
func HeldAs(*os.File, uint64) bool { return true }

// FindHeldAs fails.
func FindHeldAs(*os.File, uint64) (bool, error) { return true, errElsewhere }
