//go:build !linux

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// Ignored reports whether a signal is ignored.
func Ignored(sig syscall.Signal) bool { return signal.Ignored(sig) }

// DieBy ends this process with the status that a shell reports for a death by sig.
func DieBy(sig syscall.Signal) { os.Exit(128 + int(sig)) }
