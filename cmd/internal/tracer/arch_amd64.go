package tracer

import "golang.org/x/sys/unix"

// auditArch is what the kernel calls this architecture, where programs of others may
// run too.
const auditArch = unix.AUDIT_ARCH_X86_64

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000
