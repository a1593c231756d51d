//go:build !race

package stream

import "unsafe"

// copyIn copies data to dst, which is 8-aligned and has room up to the next
// multiple of eight; the pad is zeroed.
func copyIn(dst unsafe.Pointer, data []byte) {
	n := len(data)
	if n <= 64 && n&7 == 0 {
		// A call of memmove costs more than the few words that most events have.
		src := unsafe.Pointer(unsafe.SliceData(data))
		for i := 0; i < n; i += 8 {
			*(*uint64)(unsafe.Add(dst, i)) = *(*uint64)(unsafe.Add(src, i))
		}
		return
	}
	if n&7 != 0 {
		*(*uint64)(unsafe.Add(dst, n&^7)) = 0
	}
	copy(unsafe.Slice((*byte)(dst), n), data)
}

func store64(p unsafe.Pointer, v uint64) { *(*uint64)(p) = v }

// snapshot copies chunk memory that a writer may be overwriting; the caller
// finds out afterwards whether it did.
func snapshot(dst, src []byte) { copy(dst, src) }
