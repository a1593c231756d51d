package tracelog

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
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

// A reader of a pipe reports events when their group ends, not earlier and not only at the end of
// the log.
func TestPipeReportsEachGroup(t *testing.T) {
	pr, pw, err := os.Pipe()
	must(t, err)
	defer pr.Close()
	early, late := makeBlock(1, 20, 10, 4, false), makeBlock(0, 10, 10, 4, false)
	read := make(chan []ev)
	go func() {
		defer close(read)
		r, err := OpenStream(pr)
		if err != nil {
			t.Error(err)
			return
		}
		var rec chunk.Record
		for {
			ok, err := r.Next(&rec)
			if err != nil {
				t.Error(err)
			}
			if !ok {
				wantState(t, r, Finished)
				return
			}
			read <- []ev{evOf(&rec)}
		}
	}()
	w, err := Create(pw, superFor(Append))
	must(t, err)
	must(t, w.Events(early.EventsBlock)) // 20 to 29
	must(t, w.GroupEnd(15))              // nothing may be reported yet
	must(t, w.Events(late.EventsBlock))  // 10 to 19
	must(t, w.GroupEnd(24))
	want := ordered([]block{early, late})
	var got []ev
	for range 15 { // up to 24: this would hang if groups were not reported
		got = append(got, <-read...)
	}
	must(t, w.Seal(testStatus, true))
	pw.Close()
	for e := range read {
		got = append(got, e...)
	}
	wantEvents(t, got, want)
}

// A log that never ends a group is reported in pieces, so that memory stays bounded.
func TestHeldBlocksAreBounded(t *testing.T) {
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	var blocks []block
	for i := range 300 {
		blocks = append(blocks, makeBlock(uint32(i), uint64(i*1000), 100, 20, false))
		must(t, w.Events(blocks[i].EventsBlock))
	}
	must(t, w.Seal(testStatus, false))
	r := openStream(t, m.b)
	r.src.(*forwardSource).hold = 100_000
	most := int64(0)
	var got []ev
	var rec chunk.Record
	for {
		ok, err := r.Next(&rec)
		must(t, err)
		if !ok {
			break
		}
		got = append(got, evOf(&rec))
		most = max(most, r.merge.held)
	}
	wantEvents(t, got, ordered(blocks))
	if most > 120_000 {
		t.Errorf("%d bytes held", most)
	}
}

// Reading a log takes memory for the blocks that overlap, not for the log.
func TestReaderMemoryIsBounded(t *testing.T) {
	log, n := benchLog(t, 4)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := openFile(t, log)
	var rec chunk.Record
	got := 0
	for ok, err := r.Next(&rec); ok; ok, err = r.Next(&rec) {
		must(t, err)
		got++
	}
	runtime.ReadMemStats(&after)
	if d := after.TotalAlloc - before.TotalAlloc; got != n || d > 1<<20 {
		t.Errorf("%d of %d events, %d bytes allocated for a log of %d", got, n, d, len(log))
	}
}

// Lengths and counts that exceed the log do not make the reader allocate.
func TestFalseLengthsAllocateNothing(t *testing.T) {
	s := superFor(Loop)
	s.LogSize = 1 << 40 // slots far beyond the end of the file
	var m memory
	if _, err := create(&m, s); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Reader{openFile(t, m.b), openStream(t, m.b)} {
		if got := readAll(t, r); len(got) != 0 {
			t.Errorf("%d events", len(got))
		}
		wantState(t, r, Unfinished)
	}
}

type failingReader struct {
	b []byte
	n int
}

func (f *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if f.n--; f.n < 0 {
		return 0, syscall.EIO
	}
	return readerAt(f.b).ReadAt(p, off)
}

func (f *failingReader) Read(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, syscall.EIO
	}
	n := copy(p[:min(len(p), 200)], f.b)
	f.b = f.b[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A failure to read is an error, neither damage nor the end of the log.
func TestReadFailureIsAnError(t *testing.T) {
	for _, p := range []Policy{Append, Loop} {
		log, blocks, _ := smallLog(t, p)
		for _, b := range [][]byte{log, log[:len(log)-1]} {
			for _, stream := range []bool{false, true} {
				failed := 0
				for n := 0; ; n++ {
					var r *Reader
					var err error
					if stream {
						r, err = OpenStream(&failingReader{b, n})
					} else {
						r, err = OpenFile(&failingReader{b, n}, int64(len(b)))
					}
					var got []ev
					var rec chunk.Record
					for ok := err == nil; ok; {
						if ok, err = r.Next(&rec); ok {
							got = append(got, evOf(&rec))
						}
					}
					if err == nil {
						wantEvents(t, got, ordered(blocks))
						break
					}
					if failed++; !errors.Is(err, syscall.EIO) {
						t.Fatalf("read %d failed: %v", n, err)
					}
				}
				if failed < 4 {
					t.Errorf("only %d reads", failed)
				}
			}
		}
	}
}

func TestMalformedChunkIsWrittenUpToFault(t *testing.T) {
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	good, bad := makeBlock(0, 10, 4, 4, false), makeBlock(1, 20, 4, 4, false)
	bad.Payload = append(bad.Payload, 1, 2, 3, 4, 5, 6, 7, 8)
	if err := w.Events(bad.EventsBlock); !errors.Is(err, chunk.ErrMalformed) {
		t.Errorf("Events = %v, want ErrMalformed", err)
	}
	must(t, w.Events(good.EventsBlock))
	must(t, w.Events(EventsBlock{Payload: nil}))
	must(t, w.Seal(testStatus, false))
	r := openFile(t, m.b)
	wantEvents(t, readAll(t, r), ordered([]block{good, bad}))
	wantState(t, r, Finished)
}

// A reader of an unfinished log gets the last status in it.
func TestStatusOfUnfinished(t *testing.T) {
	var m memory
	w, err := create(&m, superFor(Append))
	must(t, err)
	must(t, w.Status(Status{Running: true}))
	must(t, w.Status(testStatus))
	bothWays(m.b, func(way string, r *Reader, err error) {
		must(t, err)
		readAll(t, r)
		if s, ok := r.Status(); !ok || s != testStatus {
			t.Errorf("%s: Status() = %+v, %v", way, s, ok)
		}
	})
	must(t, w.Seal(Status{}, false))
	for _, err := range []error{w.Types(testTypes), w.Anchors(nil), w.Events(EventsBlock{}), w.GroupEnd(1), w.Status(testStatus), w.Clear()} {
		if err != errSealed {
			t.Errorf("after Seal: %v", err)
		}
	}
}

// Create refuses what cannot be a log before it writes anything.
func TestCreateRefuses(t *testing.T) {
	for name, change := range map[string]func(*Super){
		"policy":     func(s *Super) { s.LogPolicy = 9 },
		"chunk size": func(s *Super) { s.ChunkSize = chunk.MaxSize + 1 },
		"no chunk":   func(s *Super) { s.ChunkSize = 0 },
		"time":       func(s *Super) { s.CreateNsec = 1e9 },
		"clock":      func(s *Super) { s.Clock = 2 },
		"long name":  func(s *Super) { s.Name = string(make([]byte, 1<<16)) },
		"names":      func(s *Super) { s.Name = string(make([]byte, 65000)); s.Host = s.Name },
	} {
		s := superFor(Append)
		change(s)
		var m memory
		if _, err := create(&m, s); !errors.Is(err, syscall.EINVAL) || len(m.b) != 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, len(m.b))
		}
	}
	s := superFor(Append)
	s.Command = slices.Repeat([]string{string(make([]byte, 1000))}, 100)
	var m memory
	_, err := create(&m, s)
	must(t, err)
	if n := len(openFile(t, m.b).Super().Command); n < 60 || n > 65 {
		t.Errorf("%d of 100 long arguments are in the superblock", n)
	}
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
	must(t, s.keep(4096))
	if s.kept != 0 {
		t.Errorf("within the old contents space is kept up to %d", s.kept)
	}
	must(t, s.keep(old+4096))
	var st syscall.Stat_t
	must(t, syscall.Fstat(int(f.Fd()), &st))
	if s.kept < old+4096 || s.kept == math.MaxInt64 || st.Blocks*512 < 4096 || st.Size != old {
		t.Errorf("space is kept up to %d; the file has %d bytes in %d", s.kept, st.Size, st.Blocks*512)
	}
}
