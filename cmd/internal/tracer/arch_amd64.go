package tracer

import "golang.org/x/sys/unix"

// auditArch is this architecture in the kernel's seccomp and ptrace interfaces. Programs of
// other architectures may run on the machine too.
const auditArch = unix.AUDIT_ARCH_X86_64

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000

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
