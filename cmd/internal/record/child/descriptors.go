package child

import (
	"os"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// descriptorRoom is the number of unused descriptors around a descriptor made for
// inheritance: while it starts a process, the runtime uses a few next to the inherited
// ones.
const descriptorRoom = 8

// FreeDescriptor returns the lowest unused descriptor with unused neighbours. Above 64, and
// again above 256, the kernel needs a larger descriptor table, which delays a process with
// several threads by many milliseconds.
func FreeDescriptor() int {
	used := []int{2}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := cli.ParseDigits(e.Name()); err == nil && fd < 1<<20 {
			used = append(used, int(fd))
		}
	}
	slices.Sort(used)
	last := 2
	for _, fd := range used {
		if fd-last > 2*descriptorRoom {
			break
		}
		last = max(last, fd)
	}
	return last + descriptorRoom
}
