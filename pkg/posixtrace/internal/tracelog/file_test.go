package tracelog

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

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
		"policy":     func(s *Super) { s.LogFullPolicy = 9 },
		"chunk size": func(s *Super) { s.ChunkSize = chunk.MaxSize + 1 },
		"no chunk":   func(s *Super) { s.ChunkSize = 0 },
		"time":       func(s *Super) { s.CreateTime.Nsec = 1e9 },
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
