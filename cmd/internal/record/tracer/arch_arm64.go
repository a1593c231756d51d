//go:build linux

package tracer

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch is this architecture in the kernel's seccomp and ptrace interfaces. Programs of
// other architectures may run on the machine too.
const auditArch = unix.AUDIT_ARCH_AARCH64

// createCall is the call that opens a file to write without flags, -1 if there is none.
const createCall = -1

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x20000

// Register sets of PTRACE_GETREGSET.
const (
	setGeneral = 1     // NT_PRSTATUS
	setCall    = 0x404 // NT_ARM_SYSTEM_CALL
)

// skipCall makes a thread at a seccomp stop skip the call, which fails with ENOSYS.
func skipCall(tid int) {
	nr := int32(-1)
	io := unix.Iovec{Base: (*byte)(unsafe.Pointer(&nr)), Len: 4}
	ptrace(unix.PTRACE_SETREGSET, tid, setCall, uintptr(unsafe.Pointer(&io)))
	var regs [34]uint64 // struct user_pt_regs
	io = unix.Iovec{Base: (*byte)(unsafe.Pointer(&regs)), Len: uint64(unsafe.Sizeof(regs))}
	if ptrace(unix.PTRACE_GETREGSET, tid, setGeneral, uintptr(unsafe.Pointer(&io))) == nil {
		regs[0] = ^uint64(unix.ENOSYS - 1)
		ptrace(unix.PTRACE_SETREGSET, tid, setGeneral, uintptr(unsafe.Pointer(&io)))
	}
}

// resumable are the calls that the kernel may continue by restart_syscall(2).
var resumable = []int{unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_FUTEX}

// callIn returns the number of the call that the instructions at the end of code make, or -1.
func callIn(code []byte) int {
	if len(code) < 8 || binary.LittleEndian.Uint32(code[len(code)-4:]) != 0xd4000001 { // svc #0
		return -1
	}
	load := binary.LittleEndian.Uint32(code[len(code)-8:])
	if load&0x7fe0001f != 0x52800008 { // mov w8 or x8, #number
		return -1
	}
	return int(load >> 5 & 0xffff)
}

// restartCall does nothing: before the stop of an interruption, the kernel has decided whether it
// restarts the call.
func restartCall(int) (broken int) { return 0 }
