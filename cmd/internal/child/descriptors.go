package child

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// FillDescriptors takes the descriptors 3 and 4 where they are free, and returns
// a function that frees them again.
func FillDescriptors() func() {
	var mine []int
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			break
		}
		mine = append(mine, fd)
		if fd > 4 {
			break
		}
	}
	return func() {
		for _, fd := range mine {
			unix.Close(fd)
		}
	}
}

// descriptorRoom is how many unused descriptors surround those that are made to be
// inherited: the runtime puts a few next to those it passes on while it starts a process.
const descriptorRoom = 8

// FreeDescriptor returns a descriptor that is not in use, nor are those around it. It is
// the lowest one: beyond 64, and again beyond 256, the kernel needs a larger table, for
// which a process with several threads waits for many milliseconds.
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
