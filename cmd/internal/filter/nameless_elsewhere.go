//go:build !linux

package filter

import (
	"os"
	"syscall"
)

const noTerminal = 0

func mayWrite(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// openNameless returns nil: a file gets a temporary name.
func openNameless(string, string, os.FileMode) (*os.File, error) { return nil, nil }

// linkNameless is not called where no file is nameless.
func linkNameless(*os.File, string) error { return syscall.ENOSYS }

// umask returns the permissions that others usually lack.
func umask() os.FileMode { return 0o022 }
