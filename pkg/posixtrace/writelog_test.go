package posixtrace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A log written from a log has the same records; writing takes no more memory for more
// events.
func TestWriteLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := CreateWithLog(os.Getpid(), &Attr{Name: "from", LogFullPolicy: PolicyAppend, MaxDataSize: new(32 << 10), StreamSize: 1 << 20}, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	small, err := OpenEventID("writelog.small")
	if err != nil {
		t.Fatal(err)
	}
	large, _ := OpenEventID("writelog.large")
	data := bytes.Repeat([]byte("0123456789"), 4000) // more than max-data-size
	const n = 300_000
	for i := range n {
		Event(small, data[:i%40])
		if i%1000 == 0 {
			Event(large, data)
		}
		if i%20_000 == 19_999 {
			s.Flush()
		}
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}

	open := func(r io.Reader) *Reader {
		t.Helper()
		rd, err := NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		return rd
	}
	from := open(f)
	var most uint64
	var mem runtime.MemStats
	var out countingFile
	out.File, err = os.Create(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	out.each = func() {
		runtime.ReadMemStats(&mem)
		most = max(most, mem.HeapInuse)
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	before := mem.HeapInuse
	if err := from.WriteLog(&out, func(r *Record) bool { return r.ID != large }); err != nil {
		t.Fatal(err)
	}
	if most > before+24<<20 {
		t.Errorf("writing %d bytes took %d bytes of memory", out.n, most-before)
	}

	// Reading forward and seeking give the same.
	for _, r := range []io.Reader{out.File, onlyReader{out.File}} {
		out.File.Seek(0, io.SeekStart)
		from, to := open(f), open(r)
		if a, b := from.Attr(), to.Attr(); a != b {
			t.Errorf("attributes %+v, want %+v", b, a)
		}
		events := 0
		for {
			want, err := from.Next()
			if err == nil && want.ID == large {
				continue
			}
			got, gerr := to.Next()
			if err != nil || gerr != nil {
				if err != io.EOF || gerr != io.EOF {
					t.Fatalf("after %d events: %v, %v", events, err, gerr)
				}
				break
			}
			if got.EventInfo != want.EventInfo || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("event %d: %+v %q, want %+v %q", events, got.EventInfo, got.Data, want.EventInfo, want.Data)
			}
			events++
		}
		if events < n {
			t.Errorf("%d events", events)
		}
		if state, err := to.State(); state != LogFinished {
			t.Errorf("state %v, %v", state, err)
		}
		if a, b := from.Status(), to.Status(); a != b {
			t.Errorf("status %+v, want %+v", b, a)
		}
		if got := to.EventName(large); got != "writelog.large" {
			t.Errorf("the type that was left out is %q", got)
		}
		from.Close()
		to.Close()
	}

	// WriteLog returns the error of a failing writer, whichever of its calls fails.
	boom := errors.New("boom")
	for fail := range 6 {
		w := &countingFile{File: out.File, failAt: fail + 1, err: boom}
		if err := open(f).WriteLog(w, nil); !errors.Is(err, boom) {
			t.Errorf("write %d failed and WriteLog says %v", fail, err)
		}
	}
}

type onlyReader struct{ io.Reader }

type countingFile struct {
	*os.File
	n      int64
	calls  int
	failAt int
	err    error
	each   func()
}

func (c *countingFile) Write(b []byte) (int, error) {
	if c.calls++; c.calls == c.failAt {
		return 0, c.err
	}
	if c.each != nil && c.calls%16 == 0 {
		c.each()
	}
	c.n += int64(len(b))
	if c.failAt > 0 {
		return len(b), nil
	}
	return c.File.Write(b)
}
