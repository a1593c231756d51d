package tracer

import (
	"encoding/binary"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// appendStrings reads an array at any address: one of its pointers may cross a page
// boundary, and an unreadable page may follow it.
func TestAppendStringsAtAnyAddress(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 3*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := unix.Mprotect(mem[2*pageSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	copy(mem, "one\x00two\x00")
	const size = 3 * 8
	for at := pageSize - size - 8; at <= 2*pageSize-size; at++ {
		if at == pageSize+8 {
			at = 2*pageSize - size - 8
		}
		clear(mem[16 : 2*pageSize])
		binary.NativeEndian.PutUint64(mem[at:], base)
		binary.NativeEndian.PutUint64(mem[at+8:], base+4)
		tr := &tracer{cfg: Config{MaxData: 4096}}
		if b, _ := tr.appendStrings(nil, os.Getpid(), base+uint64(at)); string(b) != `["one", "two"]` {
			t.Errorf("array at %d is %s, want [\"one\", \"two\"]", at, b)
		}
	}
}
