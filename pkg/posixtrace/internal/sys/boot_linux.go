package sys

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc, the same on every architecture that Go
// runs on, whatever the kernel's own tick is.
const userHZ = 100

// BootID returns the identity of this boot of the machine, "" when unknown.
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

// bootOffset is by how much our time namespace shifts the time since boot. The
// start times of processes would differ with it from one reader to another,
// and the living would seem dead to each other.
var bootOffset = sync.OnceValue(func() int64 { return namespaceOffset("boottime", "7") })

// initialTime is the time namespace of a machine that has been given no other, in
// which there are no offsets.
const initialTime = "time:[4026531834]"

// namespaceOffset returns by how many nanoseconds our time namespace shifts a clock, which
// the kernel calls by one of two names.
func namespaceOffset(clock, id string) int64 {
	// There is such a namespace nearly nowhere.
	ours, err := os.Readlink("/proc/self/ns/time")
	if err != nil || ours == initialTime {
		return 0
	}
	// The offsets in /proc are those of our children to be: ours too, unless this
	// process has asked for another namespace for them.
	if theirs, err := os.Readlink("/proc/self/ns/time_for_children"); err != nil || theirs != ours {
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
