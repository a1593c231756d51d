//go:build linux

package tracer

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Present knows which pages the kernel would have to read from a file, and ends there.
func TestPresent(t *testing.T) {
	size := os.Getpagesize()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err == nil {
		err = f.Truncate(int64(200 * size))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 200*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	for i := range 100 {
		m[i*size] = 1
	}
	at := uint64(uintptr(unsafe.Pointer(&m[0])))
	far := uint64(150 * size)
	for _, tt := range []struct {
		addr    uint64
		n, want int
	}{
		{at, 1, 1}, {at + 5, 100, 100}, {at, 100 * size, 100 * size}, {at, 101 * size, 100 * size}, {at + 7, 180 * size, 100*size - 7},
		{at + far, 1, 0}, {at + far, 10 * size, 0}, {0, 8, 0}, {at, 0, 0}, {1<<64 - 1, 8, 8},
	} {
		if got := Present(os.Getpid(), tt.addr, tt.n); got != tt.want {
			t.Errorf("Present(%#x+%d, %d) = %d, want %d", at, int64(tt.addr-at), tt.n, got, tt.want)
		}
	}
	if got := Present(1<<30, at, 5); got != 5 {
		t.Errorf("of no process: %d", got)
	}
}
