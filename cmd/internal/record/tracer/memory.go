//go:build linux

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory returns a buffer of n bytes, which the next call reuses.
func (t *tracer) memory(n int) []byte {
	if len(t.mem) < n {
		t.mem = make([]byte, n)
	}
	return t.mem[:n]
}

// wordReader reads words of another process's memory in sequence.
type wordReader struct {
	tid   int
	at    uint64
	b     [1024]byte
	n     int // in b
	i     int
	total int
	bad   bool // the memory cannot be read, or maxWords was exceeded
}

// maxWords bounds the bytes that a wordReader reads, since a process controls its memory.
const maxWords = 1 << 21

func (w *wordReader) ok() bool { return !w.bad }

func (w *wordReader) next() uint64 {
	for w.i+8 > w.n {
		// A word may cross a page boundary.
		w.n = copy(w.b[:], w.b[w.i:w.n])
		w.i = 0
		n := readMemory(w.tid, w.at, w.b[w.n:min(len(w.b), w.n+pageSize-int(w.at%pageSize))])
		w.at += uint64(n)
		w.n += n
		if w.total += n; n == 0 || w.total > maxWords {
			w.bad = true
			return 0
		}
	}
	v := nativeWord(w.b[w.i:])
	w.i += 8
	return v
}

// readMemory reads up to len(b) bytes of the memory of a process and returns how many it
// could read.
func readMemory(tid int, addr uint64, b []byte) int {
	if len(b) == 0 || addr == 0 {
		return 0
	}
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(b)}
	n, _, no := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if no != 0 {
		return 0
	}
	return int(n)
}

const pageSize = 4096

// readString reads a NUL-terminated string, at most len(b) bytes of it, and reports whether
// it is longer. It does not read beyond the page that the string ends in, since the next page
// may be unmapped.
func readString(tid int, addr uint64, b []byte) (s []byte, cut, ok bool) {
	n := 0
	for n < len(b) {
		step := min(len(b)-n, pageSize-int((addr+uint64(n))%pageSize))
		if n == 0 {
			step = min(step, 256)
		}
		got := readMemory(tid, addr+uint64(n), b[n:n+step])
		if got == 0 {
			return b[:n], n > 0, n > 0
		}
		for i, c := range b[n : n+got] {
			if c == 0 {
				return b[:n+i], false, true
			}
		}
		n += got
	}
	return b[:n], true, true
}
