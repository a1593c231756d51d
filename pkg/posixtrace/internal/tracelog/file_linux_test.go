package tracelog

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Which file types suit which policy: CRE-21, CRE-22.
func TestCreateChecksFileType(t *testing.T) {
	dir := t.TempDir()
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(name, flags, 0o600)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	pr, pw, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { pr.Close(); pw.Close() })
	go io.Copy(io.Discard, pr)
	for _, c := range []struct {
		name string
		f    *os.File
		all  bool // suits every policy, else only Append
		none bool
	}{
		{"regular", open(filepath.Join(dir, "a"), os.O_CREATE|os.O_WRONLY), true, false},
		{"append mode", open(filepath.Join(dir, "b"), os.O_CREATE|os.O_WRONLY|os.O_APPEND), false, false},
		{"pipe", pw, false, false},
		{"character device", open("/dev/null", os.O_WRONLY), false, false},
		{"directory", open(dir, os.O_RDONLY), false, true},
	} {
		for _, p := range []Policy{Append, UntilFull, Loop} {
			w, err := Create(c.f, superFor(p))
			if (err == nil) != (c.all || p == Append && !c.none) || err != nil && !errors.Is(err, syscall.EINVAL) {
				t.Errorf("%s, %v: Create = %v", c.name, p, err)
			}
			if err == nil {
				must(t, w.Events(makeBlock(0, 5, 2, 2, false).EventsBlock))
				must(t, w.Seal(testStatus, false))
			}
		}
	}
	if _, err := Create(open(filepath.Join(dir, "a"), os.O_RDONLY), superFor(Append)); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Create on a file open for reading = %v, want EBADF", err)
	}
	full := open("/dev/full", os.O_WRONLY)
	if _, err := Create(full, superFor(Append)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Create on a full device = %v, want ENOSPC", err)
	}
	bad := superFor(Flush)
	if _, err := Create(open(filepath.Join(dir, "a"), os.O_WRONLY), bad); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Create with policy flush = %v, want EINVAL", err)
	}
}

func TestAppendMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(path, make([]byte, 100_000), 0o600))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	w, err := Create(f, superFor(Append))
	must(t, err)
	blocks := overlapping(20)
	writeLog(t, w, blocks)
	b, err := os.ReadFile(path)
	must(t, err)
	r := openFile(t, b)
	wantEvents(t, readAll(t, r), ordered(blocks))
	wantState(t, r, Finished)
}

// TestKeepBehindOldContents lets a log keep the space for its end where the file has been longer: within
// the old contents there is nothing to allocate, behind them there is.
func TestKeepBehindOldContents(t *testing.T) {
	const old = 1 << 20
	// A file in memory, for not every file system allocates space ahead.
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	must(t, err)
	f := os.NewFile(uintptr(fd), "log")
	defer f.Close()
	must(t, f.Truncate(old))
	out, err := newSink(f, Append)
	must(t, err)
	s := out.(*positionalSink)
	must(t, s.preallocate(4096))
	if s.kept != 0 {
		t.Errorf("within the old contents space is kept up to %d", s.kept)
	}
	must(t, s.preallocate(old+4096))
	var st syscall.Stat_t
	must(t, syscall.Fstat(int(f.Fd()), &st))
	if s.kept < old+4096 || s.kept == math.MaxInt64 || st.Blocks*512 < 4096 || st.Size != old {
		t.Errorf("space is kept up to %d; the file has %d bytes in %d", s.kept, st.Size, st.Blocks*512)
	}
}

func TestResumeFile(t *testing.T) {
	blocks := overlapping(30)
	for _, c := range []struct {
		p     Policy
		flags int
	}{{Append, 0}, {Append, os.O_APPEND}, {UntilFull, 0}, {Loop, 0}} {
		path := filepath.Join(t.TempDir(), "log")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|c.flags, 0o600)
		must(t, err)
		w, err := Create(f, superFor(c.p))
		must(t, err)
		must(t, w.Types(testTypes))
		for _, b := range blocks[:20] {
			must(t, w.Events(b.EventsBlock))
		}
		f.Close()
		f, err = os.OpenFile(path, os.O_RDWR|c.flags, 0)
		must(t, err)
		defer f.Close()
		w, rec, err := Resume(f)
		must(t, err)
		if !slices.Equal(rec.Types, testTypes) || rec.Super.Name != "test" {
			t.Errorf("recovered %+v", rec)
		}
		for _, b := range blocks {
			if rec.Logged(b.Chunk, b.Gen, b.Base) != (b.Chunk < 20) || rec.Logged(b.Chunk, b.Gen+1, b.Base) {
				t.Fatalf("Logged(%d) is wrong", b.Chunk)
			}
			if b.Chunk >= 20 {
				must(t, w.Events(b.EventsBlock))
			}
		}
		must(t, w.Seal(testStatus, true))
		b, err := os.ReadFile(path)
		must(t, err)
		r := openFile(t, b)
		wantEvents(t, readAll(t, r), ordered(blocks))
		wantState(t, r, Finished)
		if _, _, err := Resume(f); err != ErrSealed {
			t.Errorf("second Resume = %v, want ErrSealed", err)
		}
	}
}

// Generations of a chunk wrap: a logged use of a chunk does not hide another use, however many came
// between.
func TestLoggedAcrossGenerationWrap(t *testing.T) {
	const step = 1 << 12 // a stream has 20 bits of them
	for _, p := range []Policy{Append, UntilFull, Loop} {
		for _, last := range []uint32{0, step, 1<<31 - step, 1 << 31, -step & (1<<32 - 1)} {
			f, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_RDWR, 0o600)
			must(t, err)
			defer f.Close()
			w, err := Create(f, superFor(p))
			must(t, err)
			must(t, w.Types(testTypes))
			// Two uses of one chunk, the later one with any generation, and others between them.
			for i, gen := range []uint32{last + 1<<30, 77, last} {
				b := makeBlock(uint32(3+i%2), uint64(100*(i+1)), 40, 10, false)
				b.Gen = gen
				must(t, w.Events(b.EventsBlock))
			}
			_, rec, err := Resume(f)
			must(t, err)
			if !rec.Logged(3, last, 300) {
				t.Errorf("policy %v: Logged = false for generation %#x", p, last)
			}
			for _, later := range []uint32{step, 1<<31 - step, 1 << 31, 1<<31 + step, 1<<32 - step} {
				if rec.Logged(3, last+later, 400) {
					t.Errorf("policy %v: Logged = true for generation %#x after %#x", p, last+later, last)
				}
			}
			if rec.Logged(3, last, 400) {
				t.Errorf("policy %v: Logged = true for another use with generation %#x", p, last)
			}
		}
	}
}
