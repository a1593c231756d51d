package sys

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A duplicate reads on where the file stands and outlives it. A closed file has none, nor has one that
// is open for the other way only.
func TestDuplicates(t *testing.T) {
	path := filepath.Join(tracetest.Dir(t), "f")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	dup, err := DupForReading(f)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := DupForWriting(f); err == nil {
		t.Error("DupForWriting of a file that is open for reading")
		d.Close()
	}
	io.ReadFull(f, make([]byte, 3))
	f.Close()
	if b, err := io.ReadAll(dup); string(b) != "tent" || err != nil || dup.Name() != path {
		t.Errorf("the duplicate %s has %q, %v", dup.Name(), b, err)
	}
	if err := dup.Close(); err != nil {
		t.Error(err)
	}
	if _, err := DupForReading(f); !errors.Is(err, syscall.EBADF) {
		t.Errorf("of a closed file: %v, want EBADF", err)
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dup, err = DupForReading(w)
	if err == nil { // on Windows only reading finds out
		if _, err := dup.Read(make([]byte, 1)); err == nil || runtime.GOOS != "windows" {
			t.Errorf("a file that is open for writing was read: %v", err)
		}
		dup.Close()
	} else if !errors.Is(err, syscall.EBADF) {
		t.Errorf("of a file that is open for writing: %v, want EBADF", err)
	}
}
