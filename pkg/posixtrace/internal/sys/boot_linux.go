package sys

import (
	"bytes"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc, the same on every architecture that Go
// runs on, whatever the kernel's own tick is.
const userHZ = 100

// BootID returns the identity of this boot of the machine, "" when unknown.
var BootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
})

// NowTicks returns the present time on the clock of Proc.Start.
func NowTicks() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return uint64(ts.Sec)*userHZ + uint64(ts.Nsec)/(1e9/userHZ)
}
