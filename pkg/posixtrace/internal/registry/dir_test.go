package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestOpen(t *testing.T) {
	old := syscall.Umask(0o777) // what is made must not depend on it
	defer syscall.Umask(old)
	base := t.TempDir()
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(base, "trace")
	t.Setenv("PTRACE_DIR", path)
	for range 2 { // makes it, finds it
		d, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if d.Path() != path {
			t.Errorf("Path() = %q, want %q", d.Path(), path)
		}
		unlock, err := d.Lock()
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		unlock() // harmless
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, lockFile: 0o600} {
		if fi, err := os.Stat(filepath.Join(path, name)); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want mode %v", name, fi.Mode(), err, want)
		}
	}
}

func TestOpenRefusesUnsafeDirectory(t *testing.T) {
	base := t.TempDir()
	mk := func(name string, mode fs.FileMode) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := mk("good", 0o700)
	link := filepath.Join(base, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(base, "dangling")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(base, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		want       error
		text       string
	}{
		{"symlink", link, syscall.ELOOP, "symbolic link"},
		{"symlink with slash", link + "/", syscall.ELOOP, "symbolic link"},
		{"dangling", dangling, syscall.ELOOP, "symbolic link"},
		{"file", file, syscall.ENOTDIR, "not a directory"},
		{"fifo", fifo, syscall.ENOTDIR, "not a directory"},
		{"group", mk("group", 0o750), syscall.EACCES, "0750"},
		{"world", mk("world", 0o701), syscall.EACCES, "0701"},
		{"shared", mk("shared", 0o777|fs.ModeSticky), syscall.EACCES, "0777"},
		{"no parent", filepath.Join(base, "none", "trace"), syscall.ENOENT, "none"},
		{"parent a file", filepath.Join(file, "trace"), syscall.ENOTDIR, "file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PTRACE_DIR", tt.path)
			d, err := Open()
			if err == nil {
				d.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Open() = %v, want %v and %q", err, tt.want, tt.text)
			}
		})
	}
	t.Run("another user", func(t *testing.T) {
		tracetest.NeedRoot(t)
		if err := os.Chown(good, 1, 1); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PTRACE_DIR", good)
		if _, err := Open(); !errors.Is(err, syscall.EACCES) {
			t.Errorf("Open() = %v, want EACCES", err)
		}
		// The same for a process without privileges.
		for dir := base; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, err := asNobody("open", "PTRACE_DIR="+good)
		if err == nil || !strings.Contains(out, "owned by another user: permission denied") {
			t.Errorf("Open() without privileges says %q %v", out, err)
		}
		// It accepts a directory of its own.
		if err := os.Chown(good, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if out, err := asNobody("open", "PTRACE_DIR="+good); err != nil {
			t.Errorf("Open() of its own directory without privileges: %v %s", err, out)
		}
	})
}

func asNobody(role string, env ...string) (string, error) {
	cmd := as(role, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	// The build directory of the test is closed to other users: run the binary through an open
	// descriptor.
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer exe.Close()
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Path = "/proc/self/fd/3"
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func roleOpen() error {
	d, err := Open()
	if err != nil {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	unlock()
	return nil
}

func TestOpenFirstUsableDirectory(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(base, "good")
	d, err := openFirst([]string{filepath.Join(base, "none", "x"), filepath.Join(file, "x"), good})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Path() != good {
		t.Errorf("took %s, want %s", d.Path(), good)
	}
	// An unusable file in place of the directory is refused, not passed over.
	if _, err := openFirst([]string{file, good}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("openFirst = %v, want ENOTDIR", err)
	}
}

func TestLockExcludes(t *testing.T) {
	d := testDir(t)
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.TryLock(); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("second lock: %v, want EAGAIN", err)
	}
	unlock()
	n := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				unlock, err := d.Lock()
				if err != nil {
					t.Error(err)
					return
				}
				n++ // the race detector watches
				unlock()
			}
		})
	}
	wg.Wait()
	if n != 400 {
		t.Errorf("n = %d, want 400", n)
	}
}

func TestStreamFileLifecycle(t *testing.T) {
	d := testDir(t)
	f, id, path, err := d.NewStreamFile(100_000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st := must(f.Stat()); st.Size() != 100_000 || st.Sys().(*syscall.Stat_t).Blocks*512 < 100_000 {
		t.Errorf("size %d, %d blocks: not allocated", st.Size(), st.Sys().(*syscall.Stat_t).Blocks)
	}
	if _, err := d.OpenStreamFile(id); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("open before publish: %v, want ENOENT", err)
	}
	if ids, err := d.StreamIDs(); len(ids) != 0 || err != nil {
		t.Errorf("StreamIDs before publish = %x, %v", ids, err)
	}
	if err := d.Publish(id); err != nil {
		t.Fatal(err)
	}
	if err := d.Publish(id); err == nil {
		t.Error("published twice")
	}
	for _, open := range []func() (*os.File, error){
		func() (*os.File, error) { return d.OpenStreamFile(id) },
		func() (*os.File, error) { f, _, err := OpenStreamPath(nil, path); return f, err },
	} {
		g, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(must(f.Stat()), must(g.Stat())) {
			t.Error("another file")
		}
		g.Close()
	}
	if got, ok := StreamIDOfPath(path); got != id || !ok {
		t.Errorf("StreamIDOfPath(%s) = %x, %v", path, got, ok)
	}
	if ids, err := d.StreamIDs(); len(ids) != 1 || ids[0] != id || err != nil {
		t.Errorf("StreamIDs = %x, %v, want %x", ids, err, id)
	}
	for range 2 { // the second time there is none
		if err := d.RemoveStream(id); err != nil {
			t.Error(err)
		}
	}
	if left := must(d.names()); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	if _, _, _, err := d.NewStreamFile(0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("NewStreamFile(0) = %v, want EINVAL", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOpenStreamRefuses(t *testing.T) {
	d := testDir(t)
	path := func(i int) string { return d.StreamPath(uint64(i)) }
	write := func(i int, mode fs.FileMode) {
		if err := os.WriteFile(path(i), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path(i), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(1, 0o600)
	steps := []error{
		os.Symlink(path(1), path(2)),
		syscall.Mkfifo(path(3), 0o600),
		os.Mkdir(path(4), 0o700),
	}
	write(5, 0o620)
	write(6, 0o602)
	write(7, 0o600)
	steps = append(steps, os.Link(path(7), filepath.Join(d.Path(), "other")))
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]error{
		1: nil, 2: syscall.ELOOP, 3: syscall.EINVAL, 4: syscall.EISDIR,
		5: syscall.EACCES, 6: syscall.EACCES, 7: syscall.EINVAL, 8: syscall.ENOENT,
	} {
		for how, open := range map[string]func() (*os.File, error){
			"id":   func() (*os.File, error) { return d.OpenStreamFile(uint64(i)) },
			"path": func() (*os.File, error) { f, _, err := OpenStreamPath(nil, path(i)); return f, err },
		} {
			f, err := open()
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("file %d by %s: %v, want %v", i, how, err, want)
			}
		}
	}
}

func TestParsersRefuseForeignNames(t *testing.T) {
	for _, name := range []string{
		"", "s-", "s-0000000000000000", "s-000000000000000G", "s-00000000000000001", "s-0x00000000000001", "s-000000000000000A",
		"p-", "p-1", "p-0-5", "p-1-", "p-01-5", "p-1-+5", "p--1-5", "p-1-5-6", "p-4194304-1", "p-1-18446744073709551616",
		"t-", "t-1-2", "t-x-y-z", "t-1-2-3", "t-1-2-x-3", "t-1-2-3-4-5", "n-", "lock", "s-000000000000001\n",
	} {
		_, s := parseStreamName(name)
		_, n := parseNamesName(name)
		_, p := parsePageName(name)
		_, _, m := parseTempName(name)
		if s || n || p || m {
			t.Errorf("%q parses as the name of a file of ours", name)
		}
	}
	if id, ok := parseStreamName(streamName(0xabcdef)); id != 0xabcdef || !ok {
		t.Error(fmt.Sprint(id, ok))
	}
}
