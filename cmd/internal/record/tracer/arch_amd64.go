//go:build linux

package tracer

import (
	"bytes"
	"encoding/binary"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch is this architecture in the kernel's seccomp and ptrace interfaces. Programs of
// other architectures may run on the machine too.
const auditArch = unix.AUDIT_ARCH_X86_64

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000

// createCall is the call that opens a file to write without flags, -1 if there is none.
const createCall = unix.SYS_CREAT

// Offsets in struct user_regs_struct.
const (
	regAx     = 10 * 8
	regOrigAx = 15 * 8
)

// skipCall makes a thread at a seccomp stop skip the call, which fails with ENOSYS.
func skipCall(tid int) {
	ptrace(unix.PTRACE_POKEUSR, tid, regOrigAx, ^uintptr(0))
	ptrace(unix.PTRACE_POKEUSR, tid, regAx, ^uintptr(unix.ENOSYS-1))
}

// More of them.
const (
	regCS  = 17 * 8
	code64 = 0x33 // the code segment of a 64-bit program
)

// restartNoHand is the result of a call that is interrupted and that the kernel restarts, or that fails
// with EINTR if a handler runs. No program sees it.
const restartNoHand syscall.Errno = 514

// brokenOff are calls that fail with EINTR when the tracer interrupts their thread, though no
// handler has run. They have done nothing then. Most others the kernel restarts.
var brokenOff = []uint64{
	unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2,
	unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_RT_SIGTIMEDWAIT,
	unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS, unix.SYS_IO_URING_ENTER,
	// With a time limit of the socket:
	unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_CONNECT,
	unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
	unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
}

// resumable are the calls that the kernel may continue by restart_syscall(2).
var resumable = []int{unix.SYS_POLL, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_FUTEX}

// callIn returns the number of the call that the instructions at the end of code make, or -1.
func callIn(code []byte) int {
	load, ok := bytes.CutSuffix(code, []byte{0x0f, 0x05}) // syscall
	if !ok || len(load) < 5 {
		return -1
	}
	number := load[len(load)-4:]
	switch load = load[:len(load)-4]; {
	case load[len(load)-1] == 0xb8: // mov $number, %eax
	case bytes.HasSuffix(load, []byte{0x48, 0xc7, 0xc0}): // mov $number, %rax
	default:
		return -1
	}
	return int(int32(binary.LittleEndian.Uint32(number)))
}

// restartCall makes the kernel restart the call that an interruption by the tracer has broken
// off, if it does not do so anyway. The thread is at the stop of that interruption. If the kernel
// continues the call by restart_syscall(2), restartCall returns the number of the call.
func restartCall(tid int) (broken int) {
	nr, err := peekUser(tid, regOrigAx)
	if segment, _ := peekUser(tid, regCS); err != nil || segment != code64 {
		return 0
	}
	switch result, _ := peekUser(tid, regAx); {
	case result == errnoOfCall(restartBlock) && nr < x32Bit:
		return int(nr)
	case result == errnoOfCall(unix.EINTR) && slices.Contains(brokenOff, nr):
		ptrace(unix.PTRACE_POKEUSR, tid, regAx, uintptr(errnoOfCall(restartNoHand)))
	}
	return 0
}

// peekUser reads a register of a stopped thread.
func peekUser(tid int, offset uintptr) (v uint64, err error) {
	err = ptrace(unix.PTRACE_PEEKUSR, tid, offset, uintptr(unsafe.Pointer(&v)))
	return v, err
}

// errnoOfCall is the result of a call that failed with an error number.
func errnoOfCall(no syscall.Errno) uint64 { return -uint64(no) }
