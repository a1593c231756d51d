package procfs

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// File opens the file of the descriptor, not the one that has its name by then.
func TestFileIgnoresReplacedName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("inspected"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil { // opening it would block
		t.Fatal(err)
	}
	f, err := Reopen(fd, path, unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || string(b) != "inspected" || f.Name() != path {
		t.Errorf("%s has %q, %v; want %s with %q", f.Name(), b, err, path, "inspected")
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("file status flags %#x, %v, want no O_NONBLOCK", flags, err)
	}
	if flags, err = unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v, want FD_CLOEXEC", flags, err)
	}
	if _, err := Reopen(1<<20, path, unix.O_RDONLY); err != unix.ENOENT {
		t.Errorf("File of no descriptor = %v, want ENOENT", err)
	}
}
