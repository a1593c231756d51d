package stream

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
)

// Peek reads the constants of a stream of another version, and trusts no length in them.
func TestPeek(t *testing.T) {
	b := make([]byte, headerSize)
	h := (*header)(unsafe.Pointer(&b[0]))
	h.magic, h.version, h.id = magic, version+1, 7
	known := attr.Attributes{Name: "ci", CreateTime: attr.Time{Nsec: 5}}
	h.attributes = known.Block()
	h.logPathLen, h.pidns = uint32(copy(h.logPath[:], "/a.trace")), 6
	want := Config{Attributes: known, LogPath: "/a.trace", PIDNS: 6}
	if f, ok := Peek(b); !ok || !f.Known || f.ID != 7 || !errors.Is(f.Err, ErrForeign) || f.Config != want {
		t.Errorf("Peek = %+v, %v", f, ok)
	}
	unknown := func(what string) {
		t.Helper()
		if f, ok := Peek(b); !ok || f.Known || f.ID != 7 || !errors.Is(f.Err, ErrForeign) || f.Config != (Config{}) {
			t.Errorf("%s: Peek = %+v, %v", what, f, ok)
		}
	}
	h.attributes[0] = 256
	unknown("a name that is too long")
	h.attributes[0], h.logPathLen = 2, 1<<31
	unknown("a path that is too long")
	h.logPathLen = 8
	for b = b[:PeekSize-1]; len(b) >= int(unsafe.Sizeof(stable{})); b = b[:len(b)/2] {
		unknown("a file that is cut")
	}
	if f, ok := Peek(b); ok {
		t.Errorf("of %d bytes, Peek = %+v", len(b), f)
	}
	h.version = version
	if f, ok := Peek(b[:PeekSize]); ok {
		t.Errorf("of this version, Peek = %+v", f)
	}
}

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
