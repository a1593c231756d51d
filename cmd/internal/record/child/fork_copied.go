//go:build linux && !amd64 && !arm64

package child

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forkFlags are the flags of clone(2): the child has a copy of the memory of its parent. The parent
// waits until the child executes a program or ends.
const forkFlags = unix.CLONE_VFORK | uintptr(unix.SIGCHLD)

// rawFork is clone(2) with these flags.
//
//go:nosplit
//go:norace
func rawFork(number, flags uintptr) (pid, errno uintptr) {
	a, b := flags, uintptr(0)
	if runtime.GOARCH == "s390x" {
		a, b = b, a
	}
	pid, _, no := syscall.RawSyscall6(number, a, b, 0, 0, 0, 0)
	return pid, uintptr(no)
}

// newOutcome returns an outcome that the child of rawFork shares.
func newOutcome() (*outcome, error) {
	m, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(outcome{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	return (*outcome)(unsafe.Pointer(&m[0])), nil
}

func (o *outcome) free() {
	unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(o)), unsafe.Sizeof(*o)))
}
