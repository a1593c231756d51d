package sys

import (
	"sync"

	"golang.org/x/sys/unix"
)

// ProgramID returns a number of this program, never 0, that an exec changes. All runtimes of a
// program, in Go and in C, get the same number. Without address space randomization, programs that
// are started alike have the same number.
var ProgramID = sync.OnceValue(func() uint32 {
	list, err := unix.Auxv()
	if err != nil {
		return 1
	}
	return programID(list)
})

// programID hashes the places where the kernel has put the program, its interpreter, its stack and the
// vDSO. The 16 random bytes of AT_RANDOM do not serve: the runtime overwrites them. libposixtrace
// computes the same.
func programID(auxv [][2]uintptr) uint32 {
	const (
		phdr        = 3
		base        = 7
		entry       = 9
		random      = 25
		execFn      = 31
		sysinfoEhdr = 33
	)
	var h uint64
	for _, place := range []uintptr{random, sysinfoEhdr, base, phdr, entry, execFn} {
		var at uintptr
		for _, e := range auxv {
			if e[0] == place {
				at = e[1]
				break
			}
		}
		h = (h ^ uint64(at)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return max(uint32(h), 1)
}
