package tracer

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a program contains, the bounds hold.
func FuzzDynamicNames(f *testing.F) {
	if b, err := os.ReadFile("/bin/sh"); err == nil && len(b) < 1<<20 {
		f.Add(b)
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if names := dynamicNames(bytes.NewReader(b)); len(names) > maxNames || len(names) > len(b) {
			t.Errorf("%d bytes of names in %d", len(names), len(b))
		}
	})
}

// An ordinary program is traceable, as it loads the C library, which has ptrace(3).
func TestNatureOfShell(t *testing.T) {
	path, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := dynamicNames(f)
	if !bytes.Contains(names, []byte("\x00execve\x00")) {
		t.Errorf("%d bytes of names have no execve", len(names))
	}
	if n := natureIn(names); n != traceable {
		t.Errorf("the nature of %s is %d", path, n)
	}
}
