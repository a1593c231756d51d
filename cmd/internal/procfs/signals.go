//go:build linux

package procfs

import (
	"bytes"
	"strconv"
	"syscall"
)

// Handles reports whether a process has a handler for a signal.
func Handles(pid int, sig syscall.Signal) bool {
	status, err := Read(pid, "status")
	if err != nil || sig <= 0 {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nSigCgt:\t"))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	set, _ := strconv.ParseUint(string(line), 16, 64)
	return set>>(sig-1)&1 != 0
}
