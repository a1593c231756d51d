//go:build !linux

package tracelog

import (
	"io/fs"
	"os"
	"syscall"
)

// hasType returns true: what os takes for a regular file is one.
func hasType(fs.FileInfo) bool { return true }

// openFlags returns 0: the flags of an open file are not known.
func openFlags(*os.File) (int, error) { return 0, nil }

// allocateAll fails: space is allocated when it is written.
func allocateAll(*os.File, int64) (length int64, err error) { return 0, syscall.ENOSYS }

// allocate fails, as allocateAll.
func allocate(*os.File, int64, int64) error { return syscall.ENOSYS }
