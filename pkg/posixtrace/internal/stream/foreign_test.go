package stream

import (
	"errors"
	"testing"
	"unsafe"
)

// A stream of another version is one, however small its header: what is no stream is removed.
func TestForeignStreamIsNoRest(t *testing.T) {
	for _, size := range []int{int(unsafe.Sizeof(stable{})), 4096, headerSize - 1, headerSize, headerSize + 1<<20} {
		b := make([]byte, size)
		s := (*stable)(unsafe.Pointer(&b[0]))
		s.magic, s.version = magic, version+1
		if _, err := Attach(b, true); !errors.Is(err, ErrForeign) || errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	b := make([]byte, headerSize-1)
	s := (*stable)(unsafe.Pointer(&b[0]))
	s.magic, s.version = magic, version
	if _, err := Attach(b, true); !errors.Is(err, ErrShort) {
		t.Errorf("a stream of this version that is cut short: %v", err)
	}
}
