package tracer

import "golang.org/x/sys/unix"

// auditArch is what the kernel calls this architecture, where programs of others may
// run too.
const auditArch = unix.AUDIT_ARCH_X86_64

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000

// Offsets in struct user_regs_struct.
const (
	regAx     = 10 * 8
	regOrigAx = 15 * 8
)

// skipCall makes a thread at a stop by a filter pass over the call, which fails with ENOSYS.
func skipCall(tid int) {
	ptrace(unix.PTRACE_POKEUSR, tid, regOrigAx, ^uintptr(0))
	ptrace(unix.PTRACE_POKEUSR, tid, regAx, ^uintptr(unix.ENOSYS-1))
}
