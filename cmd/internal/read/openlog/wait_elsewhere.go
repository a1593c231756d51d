//go:build !linux

package openlog

import "os"

// wouldBlock returns true: whether a read of f would wait is not known.
func wouldBlock(*os.File) bool { return true }

// stopped returns false: a signal ends the process while it reads.
func stopped(_, _ *os.File) bool { return false }
