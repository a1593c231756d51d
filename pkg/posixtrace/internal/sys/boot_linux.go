package sys

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc. It is the same on every architecture of Go, whatever the
// kernel's own tick is.
const userHZ = 100

// BootID returns the identity of this boot, "" when unknown.
var BootID = known(func() string {
	b, err := readSmall("/proc/sys/kernel/random/boot_id", make([]byte, 64))
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
	return uint64(ts.Nano()-bootOffset()) / (1e9 / userHZ)
}

// bootOffset is the offset of our time namespace for the time since boot. Start times of processes
// include the reader's offset: without a correction readers in different namespaces would take live
// processes for dead.
var bootOffset = sync.OnceValue(func() int64 { return namespaceOffset("boottime", "7") })

// initialTime is the initial time namespace, which has no offsets.
const initialTime = "time:[4026531834]"

// ourTime is our time namespace, "" if it is the initial one or if the kernel has none.
var ourTime = func() string {
	var b [len(initialTime) + 32]byte
	n, err := unix.Readlink("/proc/self/ns/time", b[:])
	if err != nil || string(b[:n]) == initialTime {
		return ""
	}
	return string(b[:n])
}()

// namespaceOffset returns the offset of our time namespace for a clock in nanoseconds. The kernel
// uses one of two names for the clock.
func namespaceOffset(clock, id string) int64 {
	if ourTime == "" {
		return 0
	}
	// The file has the offsets for our future children. They are ours, too, unless this process
	// has unshared the namespace for its children.
	if theirs, err := os.Readlink("/proc/self/ns/time_for_children"); err != nil || theirs != ourTime {
		return 0
	}
	b, err := readSmall("/proc/self/timens_offsets", make([]byte, 256))
	if err != nil {
		return 0
	}
	return parseOffsets(b, clock, id)
}

// parseOffsets returns the offset of a clock in nanoseconds.
func parseOffsets(b []byte, clock, id string) int64 {
	for l := range bytes.Lines(b) {
		f := bytes.Fields(l)
		if len(f) != 3 || string(f[0]) != clock && string(f[0]) != id {
			continue
		}
		sec, err := strconv.ParseInt(string(f[1]), 10, 34)
		if err != nil {
			return 0
		}
		nsec, err := strconv.ParseInt(string(f[2]), 10, 31)
		if err != nil {
			return 0
		}
		return sec*1e9 + nsec
	}
	return 0
}
