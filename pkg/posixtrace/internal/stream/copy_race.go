//go:build race

package stream

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// A reader of a LOOP stream copies first and checks afterwards whether the
// writer was faster. That is a race by design. The race detector must see it
// as atomic accesses, so that it reports only other races.

func copyIn(dst unsafe.Pointer, data []byte) {
	for len(data) > 0 {
		var w [8]byte
		n := copy(w[:], data)
		store64(dst, binary.NativeEndian.Uint64(w[:]))
		dst = unsafe.Add(dst, 8)
		data = data[n:]
	}
}

// pageSize is the smallest size of a page.
const pageSize = 4096

func touchAll([]byte) {}

// touch reads from each page of the data. The race detector sees plain reads, like those of the caller.
func touch(data []byte) {
	sum := data[len(data)-1]
	for i := 0; i < len(data); i += pageSize {
		sum += data[i]
	}
	touched.Store(uint32(sum))
}

var touched atomic.Uint32

func le64(b []byte) uint64 {
	_ = b[:8] // checked, not read
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(b))))
}

func store64(p unsafe.Pointer, v uint64) { atomic.StoreUint64((*uint64)(p), v) }

func snapshot(dst, src []byte) {
	for i := 0; i+8 <= len(src); i += 8 {
		binary.NativeEndian.PutUint64(dst[i:], atomic.LoadUint64((*uint64)(unsafe.Pointer(&src[i]))))
	}
}
