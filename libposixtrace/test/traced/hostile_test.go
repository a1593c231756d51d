package traced

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// sanitized is testdata/peer.c with the sanitizers, which musl does not have.
func sanitized(t testing.TB) string {
	t.Helper()
	return ctest.Build(t, ctest.Program{Sources: []string{"testdata/peer.c"}, Sanitize: !strings.Contains(ctest.CC()[0], "musl")})
}

// A trace directory that other users may write to, that is a link or a file, or that cannot be made is
// refused: the program runs on, and opening a name reports why.
func TestHostileDirectory(t *testing.T) {
	program := sanitized(t)
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	os.Mkdir(at("open"), 0o700)
	os.Chmod(at("open"), 0o777)
	os.Mkdir(at("good"), 0o700)
	os.Symlink(at("good"), at("link"))
	os.WriteFile(at("file"), nil, 0o600)
	for name, want := range map[string]syscall.Errno{
		"open": syscall.EACCES, "link": syscall.ELOOP, "file": syscall.ENOTDIR, "none/below": syscall.ENOENT,
		"file/below": syscall.ENOTDIR, strings.Repeat("n", 300): syscall.ENAMETOOLONG,
	} {
		p := startProgram(t, program, "PTRACE_DIR="+at(name))
		p.done("unnamed before")
		if n := p.number("open x"); n != -int(want) {
			t.Errorf("%.20s: %v, want %v", name, syscall.Errno(-n), want)
		}
		p.done("unnamed after")
		p.end()
	}
	if list, _ := os.ReadDir(at("good")); len(list) != 0 {
		t.Errorf("files behind a link: %v", list)
	}
	// A new directory, whatever the umask is, and a relative path.
	p := startProgram(t, program, "PTRACE_DIR="+at("good/../new/"))
	if n := p.number("open x"); n < 33 {
		t.Errorf("a new directory: %d", n)
	}
	if st, err := os.Stat(at("new")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	p.end()
}

// Files that another process of the user has put in place of ours are refused: links, files of several
// names, directories, FIFOs, files that others may write to.
func TestHostileFiles(t *testing.T) {
	program := sanitized(t)
	victim := filepath.Join(t.TempDir(), "victim")
	for name, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(victim, path) },
		"hard link": func(path string) error { return os.Link(victim, path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"writable":  func(path string) error { os.WriteFile(path, nil, 0o600); return os.Chmod(path, 0o622) },
		"empty":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"page":      func(path string) error { return os.WriteFile(path, make([]byte, 4096), 0o600) },
	} {
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		os.Chmod(dir, 0o700)
		p := startProgram(t, program, "PTRACE_DIR="+dir)
		page := filepath.Join(dir, pageName(t, p.pid))
		if err := put(page); err != nil {
			t.Fatal(err)
		}
		p.done("unnamed x")
		if n := p.number("open x"); n >= 0 {
			t.Errorf("%s in place of the page: id %d", name, n)
		}
		p.end()
		if b, _ := os.ReadFile(victim); string(b) != "precious" {
			t.Errorf("%s: the file it leads to is %q", name, b)
		}
	}
}

// pageName is the name of the page of a process.
func pageName(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return fmt.Sprintf("p-%d-%s", pid, f[19])
}

// Whatever stands in pages, files of names and the beginnings of streams, a traced process goes on
// without a fault.
func TestScribbledFiles(t *testing.T) {
	program := sanitized(t)
	r := rand.New(rand.NewPCG(16, uint64(time.Now().UnixNano())))
	dir := t.TempDir()
	os.Chmod(dir, 0o700)
	old := os.Getenv("PTRACE_DIR")
	defer tool.ForgetDirectory()
	defer os.Setenv("PTRACE_DIR", old)
	os.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	s := create(t, 0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: 64 << 10})
	p := startProgram(t, program)
	id := p.number("open x")
	for round := range 150 {
		scribble(t, r, dir, round)
		p.done("event %d 20", id)
		p.number("open name %d", round)
		if round%10 == 9 { // another process meets what is left
			q := startProgram(t, program)
			q.number("open x")
			q.done("event %d 20", id)
			q.number("fork")
			q.done("unnamed child")
			q.number("open name %d", round)
			q.end()
		}
	}
	p.end()
	s.Shutdown()
	files, _ := filepath.Glob(dir + "/s-*")
	for _, f := range files {
		os.Remove(f)
	}
}

// scribble changes some bytes of some files of a trace directory.
func scribble(t testing.TB, r *rand.Rand, dir string, round int) {
	t.Helper()
	files, _ := filepath.Glob(dir + "/[pn]-*")
	if round%3 == 2 {
		files, _ = filepath.Glob(dir + "/s-*")
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		st, _ := f.Stat()
		words := min(st.Size()/8, 512)
		if filepath.Base(path)[0] == 's' {
			words = 36864 / 8
		}
		for range 1 + r.IntN(8) {
			var b [8]byte
			v := r.Uint64() >> r.IntN(64)
			if r.IntN(3) == 0 {
				v = []uint64{0, 1, 1<<32 - 1, 1<<63 - 1, 1<<64 - 1}[r.IntN(5)]
			}
			binary.LittleEndian.PutUint64(b[:], v)
			if words > 0 {
				f.WriteAt(b[:1+r.IntN(8)], r.Int64N(words)*8)
			}
		}
		if filepath.Base(path)[0] == 'n' && r.IntN(4) == 0 {
			f.Truncate(r.Int64N(st.Size() + 100))
		}
		f.Close()
	}
}

// Files of names with anything in them give no name twice and no fault, and a file that was cut short
// gets back what the process knows.
func TestNamesFileCutShort(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o700)
	p := startProgram(t, sanitized(t), "PTRACE_DIR="+dir)
	var ids []int
	for i := range 20 {
		ids = append(ids, p.number("open name %d", i))
	}
	files, _ := filepath.Glob(dir + "/n-*")
	if len(files) != 1 {
		t.Fatalf("files of names: %v", files)
	}
	whole, _ := os.ReadFile(files[0])
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		os.WriteFile(files[0], whole[:n], 0o600)
		if id := p.number("open another %d", n); id != ids[19]+1 {
			t.Errorf("cut to %d bytes: id %d, want %d", n, id, ids[19]+1)
		}
		ids = append(ids, ids[19]+1)
		ids[19]++
		b, _ := os.ReadFile(files[0])
		if !bytes.HasPrefix(b, whole) {
			t.Errorf("cut to %d bytes: the file did not get its names back", n)
		}
		whole = b
	}
	os.Remove(files[0])
	if id := p.number("open last"); id != ids[19]+1 {
		t.Errorf("removed: id %d, want %d", id, ids[19]+1)
	}
	if b, _ := os.ReadFile(files[0]); !bytes.HasPrefix(b, whole) {
		t.Error("the new file does not have the names of the removed one")
	}
	whole[16]++
	os.WriteFile(files[0], whole, 0o600) // a record that is not sound
	if id := p.number("open after damage"); id != ids[19]+2 {
		t.Errorf("damaged: id %d, want %d", id, ids[19]+2)
	}
	p.end()
}

// The trace directory is removed while a program runs, as at the end of a user's last session. The
// program makes its page and its names anew when it opens a name, and can be traced.
func TestRemovedDirectory(t *testing.T) {
	old := os.Getenv("PTRACE_DIR")
	dir := filepath.Join(t.TempDir(), "trace")
	defer tool.ForgetDirectory()
	defer os.Setenv("PTRACE_DIR", old)
	os.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	p := startPeer(t)
	first := p.number("open first")
	s := create(t, p.pid, nil)
	p.done("event %d 3", first)
	if n := len(events(t, s)); n != 3 {
		t.Errorf("%d events", n)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.done("event %d 3", first) // the mapped stream is still there
	if n := len(events(t, s)); n != 3 {
		t.Errorf("%d events after the directory was removed", n)
	}
	s.Shutdown()
	second := p.number("open second")
	if second != first+1 {
		t.Errorf("the names are %d and %d", first, second)
	}
	again := create(t, p.pid, nil)
	p.done("event %d 2", first)
	p.done("event %d 2", second)
	var got []string
	for _, e := range events(t, again) {
		got = append(got, e.name)
	}
	if fmt.Sprint(got) != "[first first second second]" {
		t.Errorf("%q", got)
	}
	none(t, again)
	again.Shutdown()
	p.end()
}
