//go:build !amd64 && !arm64

package tracer

// names is empty: there is no table of system calls for this architecture, so their events
// are not available.
var names [0]string

const auditArch = 0

// largeFile is the O_LARGEFILE of the kernel; that of the C library is 0.
const largeFile = 0x8000

// createCall is no call.
const createCall = -1

// skipCall does nothing: without names there is no filter, and without a filter no stop at which
// to skip a call.
func skipCall(int) {}

// resumable is empty: without names, no call is shown.
var resumable []int

func callIn([]byte) int { return -1 }

// restartCall does nothing: without names, no call is recorded.
func restartCall(int) (broken int) { return 0 }
