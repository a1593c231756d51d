//go:build linux

package sys

import (
	"runtime"
	"syscall"
	_ "unsafe" // for linkname
)

// SlowSelf does what Self does, by gettid(2) and a stack walk. skip is 1 for the address that the caller of
// SlowSelf returns to.
func SlowSelf(skip int) (tid, pc uint64) {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	return uint64(syscall.Gettid()), uint64(pcs[0])
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// Processor returns the number of the scheduler's processor that runs the caller. It is a hint,
// outdated at once.
func Processor() int {
	n := procPin()
	procUnpin()
	return n
}
