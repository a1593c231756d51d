//go:build linux

package tracer

import (
	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Present returns how many of n bytes of the memory of a process, from addr on, are in main memory or swapped
// out. To read others, the kernel reads the file that they are of, and the caller waits for its file system,
// which may not answer: that may be what the process waits for. If it is unknown, Present returns n.
func Present(pid int, addr uint64, n int) int {
	const (
		swapped   = 1 << 62
		present   = 1 << 63
		entrySize = 8 // of /proc/PID/pagemap
	)
	if n <= 0 || addr > 1<<63 {
		return n
	}
	fd, err := unix.Open(procfs.File(pid, "pagemap"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return n
	}
	defer unix.Close(fd)
	size := uint64(unix.Getpagesize())
	end := addr + uint64(n)
	var b [64 * entrySize]byte
	for page := addr / size; page*size < end; {
		pages := min((end-1)/size-page+1, 64)
		got, err := unix.Pread(fd, b[:pages*entrySize], int64(page*entrySize))
		if err != nil {
			return n
		}
		if got < entrySize { // beyond the last page
			return int(max(page*size, addr) - addr)
		}
		for v := b[:got]; len(v) >= entrySize; v = v[entrySize:] {
			if nativeWord(v)&(present|swapped) == 0 {
				return int(max(page*size, addr) - addr)
			}
			page++
		}
	}
	return n
}
