//go:build !amd64 && !arm64

package tracer

// names would be the system calls by their numbers. There is no table for this
// architecture, so their events are not to be had.
var names [0]string

const auditArch = 0

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000
