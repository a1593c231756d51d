//go:build !race

package stream

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

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

// touch reads the first and the last word of the data, which is not empty, so that a fault
// happens before a chunk is made busy: a program may survive the fault (debug.SetPanicOnFault).
// The compiler does not remove atomic loads, and they cost no more than others.
func touch(data []byte) {
	p := unsafe.Pointer(unsafe.SliceData(data))
	(*atomic.Uint32)(unsafe.Pointer(uintptr(p) &^ 3)).Load()
	(*atomic.Uint32)(unsafe.Pointer((uintptr(p) + uintptr(len(data)-1)) &^ 3)).Load()
}

// touchAll reads from the pages between the first and the last.
//
//go:noinline
func touchAll(data []byte) {
	p := unsafe.Pointer(unsafe.SliceData(data))
	for i := pageSize; i < len(data); i += pageSize {
		(*atomic.Uint32)(unsafe.Pointer((uintptr(p) + uintptr(i)) &^ 3)).Load()
	}
}

// pageSize is the smallest size of a page.
const pageSize = 4096

// le64 loads the first word of b, which is 8-aligned and may be in a chunk that a writer is
// overwriting.
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func store64(p unsafe.Pointer, v uint64) { *(*uint64)(p) = v }

// snapshot copies chunk memory that a writer may be overwriting; the caller
// checks afterwards whether it did.
func snapshot(dst, src []byte) { copy(dst, src) }
