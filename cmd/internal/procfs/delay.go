//go:build linux

package procfs

import (
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Delay returns how long a thread has run, and how long it was ready to run and waited for a processor.
// The thread may have ended if its end has not been waited for. Both are 0 if the kernel does not say
// so (CONFIG_SCHED_INFO). The file is read with four system calls and no allocation: a tracer reads it at
// the end of each thread.
func Delay(tid int) (ran, waited time.Duration) {
	var b [64]byte
	path := append(append(strconv.AppendInt(append(b[:0], "/proc/"...), int64(tid), 10), "/schedstat"...), 0)
	const flags = unix.O_RDONLY | unix.O_CLOEXEC
	dir := unix.AT_FDCWD // a variable: a negative constant is no uintptr
	fd, _, no := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&path[0])), flags, 0, 0, 0)
	if no != 0 {
		return 0, 0
	}
	n, _, no := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), unsafe.Sizeof(b))
	unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	if no != 0 {
		return 0, 0
	}
	r, rest := number(b[:n])
	w, _ := number(rest)
	return time.Duration(r), time.Duration(w)
}

// number returns the decimal number at the start of text, and what follows the character behind it.
func number(text []byte) (v int64, rest []byte) {
	for i, c := range text {
		if c < '0' || c > '9' {
			return v, text[i+1:]
		}
		v = v*10 + int64(c-'0')
	}
	return v, nil
}

// Processors returns how many processors a thread may use: those of its affinity, and not more than the
// quota of this process's control group allows. It returns 0 if that is unknown.
func Processors(tid int) int {
	var set [128]uint64 // of 8192 processors, the most that the kernel supports
	n, _, no := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if no != 0 {
		return 0
	}
	count := 0
	for _, word := range set[:n/8] {
		count += bits.OnesCount64(word)
	}
	return min(count, quota())
}

// quota returns how many processors the control group of this process may use, rounded down but at
// least 1.
var quota = sync.OnceValue(func() int {
	const unlimited = int(^uint(0) >> 1)
	const mounted = "/sys/fs/cgroup"
	list, _ := os.ReadFile("/proc/self/cgroup")
	_, group, ok := strings.Cut("\n"+string(list), "\n0::")
	if !ok {
		return unlimited
	}
	group, _, _ = strings.Cut(group, "\n")
	least := unlimited
	for dir := filepath.Join(mounted, group); strings.HasPrefix(dir, mounted); dir = filepath.Dir(dir) {
		b, _ := os.ReadFile(filepath.Join(dir, "cpu.max"))
		if f := strings.Fields(string(b)); len(f) == 2 {
			most, err := strconv.Atoi(f[0]) // "max" is no number
			period, wrong := strconv.Atoi(f[1])
			if err == nil && wrong == nil && period > 0 {
				least = min(least, max(most/period, 1))
			}
		}
	}
	return least
})
