package sys

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func tempFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestMapSharesFile(t *testing.T) {
	f := tempFile(t)
	const size = 10_000
	if err := Allocate(f, size); err != nil {
		t.Fatal(err)
	}
	if st, err := Fstat(f); err != nil || st.Size != size || !st.Regular() || st.Nlink != 1 {
		t.Errorf("after Allocate: %+v %v", st, err)
	}
	w, err := Map(f, size, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Map(f, size, false)
	if err != nil {
		t.Fatal(err)
	}
	copy(w[size-5:], "hello")
	if string(r[size-5:]) != "hello" {
		t.Error("a mapping does not show a write to the other")
	}
	if err := errors.Join(Unmap(w), Unmap(r), Unmap(nil)); err != nil {
		t.Error(err)
	}
	a, err := MapAnon(size)
	if err != nil || len(a) != size || !bytes.Equal(a, make([]byte, size)) {
		t.Errorf("MapAnon: %d bytes, %v", len(a), err)
	}
	a[size-1] = 1
	if err := Unmap(a); err != nil {
		t.Error(err)
	}
	if _, err := Map(f, 0, false); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Map of nothing = %v, want EINVAL", err)
	}
}

func TestAllocate(t *testing.T) {
	f := tempFile(t)
	f.WriteString("kept")
	if err := fillZeros(f, 200_000); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if want := append([]byte("kept"), make([]byte, 200_000-4)...); !bytes.Equal(b, want) || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	tracetest.Need(t, err == nil, "/dev/full")
	defer full.Close()
	if err := Allocate(full, 1); err == nil {
		t.Error("allocated in /dev/full")
	}
}

func TestFlock(t *testing.T) {
	f := tempFile(t)
	g, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	try := func(exclusive bool, want error) {
		t.Helper()
		if err := Flock(g, exclusive, false); !errors.Is(err, want) {
			t.Errorf("Flock(exclusive %v) = %v, want %v", exclusive, err, want)
		}
	}
	if err := Flock(f, false, true); err != nil {
		t.Fatal(err)
	}
	try(true, syscall.EAGAIN)
	try(false, nil)
	if err := errors.Join(Funlock(g), Flock(f, true, true)); err != nil {
		t.Fatal(err)
	}
	try(false, syscall.EAGAIN)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Flock(g, true, true); err != nil { // waits
			t.Error(err)
		}
	})
	if err := Funlock(f); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestRenameNoReplace(t *testing.T) {
	path := t.TempDir()
	dir, st, err := OpenDir(path, true)
	if err != nil || !st.IsDir() {
		t.Fatal(st, err)
	}
	defer dir.Close()
	for _, name := range []string{"a", "b"} {
		f, err := OpenAt(dir, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != filepath.Join(path, name) {
			t.Errorf("name %q", f.Name())
		}
		f.Close()
	}
	if err := RenameNoReplace(dir, "a", "b"); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("onto another: %v, want EEXIST", err)
	}
	if err := RenameNoReplace(dir, "a", "c"); err != nil {
		t.Error(err)
	}
	if err := RenameNoReplace(dir, "a", "d"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("of nothing: %v, want ENOENT", err)
	}
	if err := errors.Join(UnlinkAt(dir, "b"), UnlinkAt(dir, "c")); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("c", filepath.Join(path, "l")); err != nil {
		t.Fatal(err)
	}
	if st, err := StatAt(dir, "l"); err != nil || !st.Symlink() {
		t.Errorf("StatAt of a link: %+v %v", st, err)
	}
	if _, err := OpenAt(dir, "l", os.O_RDWR|os.O_CREATE, 0o600); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("OpenAt of a link: %v, want ELOOP", err)
	}
}

// RenameNoReplace keeps its promises on a file system without renameat2(2) flags, as many in user
// space are: of several callers one succeeds, and at no time has the file two names, because the
// registry refuses such a file.
func TestRenameNoReplaceWithoutKernelSupport(t *testing.T) {
	defer func(f func(int, string, int, string, uint) error) { renameat2 = f }(renameat2)
	renameat2 = func(int, string, int, string, uint) error { return syscall.EINVAL }
	TestRenameNoReplace(t)
	dir, _, err := OpenDir(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	end := time.Now().Add(time.Minute)
	for round := range 100 {
		to := fmt.Sprint("to", round)
		var wg sync.WaitGroup
		var won atomic.Int32
		for i := range 4 {
			from := fmt.Sprint("from", i)
			f, err := OpenAt(dir, from, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			wg.Go(func() {
				err := RenameNoReplace(dir, from, to)
				for ; errors.Is(err, syscall.EAGAIN) && time.Now().Before(end); time.Sleep(time.Millisecond) {
					err = RenameNoReplace(dir, from, to) // on a busy machine the others hold the lock for longer than it waits
				}
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, syscall.EEXIST):
					t.Error(err)
				}
				if st, err := Fstat(f); err != nil || st.Nlink != 1 {
					t.Errorf("%d names, %v", st.Nlink, err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d renames succeed, want 1", n)
		}
	}
}

func TestBootID(t *testing.T) {
	if len(BootID()) != 36 || PIDNamespace() == 0 {
		t.Errorf("BootID %q, PIDNamespace %d", BootID(), PIDNamespace())
	}
}

// The kind of a file decides whether it is opened at all, and the file that was checked is the one
// opened.
func TestOpenCheckedOpensTheCheckedFile(t *testing.T) {
	path := t.TempDir()
	dir, _, err := OpenDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	at := func(name string) string { return filepath.Join(path, name) }
	if err := errors.Join(os.WriteFile(at("a"), []byte("a"), 0o600), os.WriteFile(at("b"), []byte("b"), 0o600),
		os.Symlink("a", at("link")), os.Symlink("none", at("dangling")), syscall.Mkfifo(at("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	looked := 0
	for name, want := range map[string]error{"link": syscall.ELOOP, "dangling": syscall.ELOOP, "fifo": refused, ".": syscall.EISDIR} {
		_, err := OpenChecked(dir, name, os.O_RDWR|os.O_CREATE, 0o600, func(st *FileStat) error {
			if looked++; st.Regular() {
				t.Errorf("%s is regular", name)
			}
			return refused
		})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if looked != 1 {
		t.Errorf("look was called %d times", looked)
	}
	f, err := OpenChecked(dir, "a", os.O_RDWR, 0, func(*FileStat) error { return os.Rename(at("b"), at("a")) })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [2]byte
	if n, _ := f.Read(b[:]); n != 1 || b[0] != 'a' {
		t.Errorf("opened %q", b[:n])
	}
	// A file that comes and goes is created or found.
	n := 0
	f, err = OpenChecked(dir, "new", os.O_RDWR|os.O_CREATE, 0o600, func(*FileStat) error { n++; return nil })
	if err != nil || n != 0 {
		t.Fatal(n, err)
	}
	f.Close()
	f, err = OpenChecked(dir, "new", os.O_RDWR|os.O_CREATE, 0o600, func(*FileStat) error {
		if n++; n == 1 {
			os.Remove(at("new"))
			return syscall.ENOENT
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	f.Close()
}
