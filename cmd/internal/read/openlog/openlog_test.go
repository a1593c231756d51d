package openlog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// environment returns the environment of a command without an input, and what the command reports.
func environment() (*cli.Env, *bytes.Buffer) {
	reports := new(bytes.Buffer)
	return &cli.Env{Stdout: cli.NewWriter(io.Discard), Stderr: reports, Getenv: func(string) string { return "" }, Prog: "test"}, reports
}

// form is a way in which a file holds a log.
type form struct {
	name       string
	pack       func(testing.TB, []byte) []byte
	compressed bool
}

var forms = []form{
	{"plain", func(_ testing.TB, b []byte) []byte { return b }, false},
	{"gzip", packGzip, true},
	{"zstd", packZstd, true},
}

func packGzip(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZstd(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 { // in several blocks, though the log is small
		n := min(len(data), 1000)
		_, err := w.Write(data[:n])
		if err := errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// recorded returns a log of testdata, its number of events and the time of its last event.
func recorded(t *testing.T, name string) (log []byte, events int, last int64) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".trace.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if log, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	r, err := posixtrace.NewReader(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	events, last = count(t, r)
	return log, events, last
}

// count reads r to its end, and returns the number of events and the latest time.
func count(t *testing.T, r *posixtrace.Reader) (n int, last int64) {
	t.Helper()
	last = math.MinInt64
	var b posixtrace.Batch
	for {
		err := r.NextBatch(&b)
		if err == io.EOF {
			return n, last
		}
		if err != nil {
			t.Fatal(err)
		}
		n += len(b.Records)
		for i := range b.Records {
			last = max(last, b.Records[i].UnixNano)
		}
	}
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(tracetest.Dir(t), "build.trace")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// piped returns the read end of a pipe to which data is written.
func piped(t *testing.T, data []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer w.Close()
		w.Write(data) // fails when the test closes r
	}()
	t.Cleanup(func() { r.Close(); <-written })
	return r
}

// A log in a regular file is read as often as the caller wants, compressed or not, and a log in a pipe
// once, with the same events.
func TestOpen(t *testing.T) {
	for _, log := range []string{"append", "until-full", "loop"} {
		data, events, last := recorded(t, log)
		if events == 0 {
			t.Fatalf("%s has no events", log)
		}
		for _, form := range forms {
			t.Run(log+"/"+form.name, func(t *testing.T) {
				packed := form.pack(t, data)
				env, reports := environment()
				l, err := Open(env, write(t, packed))
				if err != nil {
					t.Fatal(err)
				}
				defer l.File.Close()
				if l.Live != nil || l.Compressed() != form.compressed || l.Seekable() == form.compressed {
					t.Errorf("Live %v, Compressed %v, Seekable %v", l.Live != nil, l.Compressed(), l.Seekable())
				}
				if n, err := l.LastTime(); n != last || err != nil {
					t.Errorf("LastTime is %d, %v, want %d", n, err, last)
				}
				// Another reader has a position of its own.
				again, err := l.Again()
				if err != nil {
					t.Fatal(err)
				}
				for way, r := range map[string]*posixtrace.Reader{"first": l.Reader, "again": again} {
					if n, _ := count(t, r); n != events {
						t.Errorf("%s: %d events, want %d", way, n, events)
					}
				}
				if err := l.Soundness(); err != nil {
					t.Errorf("Soundness: %v", err)
				}

				in := piped(t, packed)
				env.Stdin = in
				l, err = Open(env, "-")
				if err != nil {
					t.Fatal(err)
				}
				if l.Live == nil || l.Name != "standard input" || l.Seekable() {
					t.Errorf("of a pipe: Live %v, name %q, Seekable %v", l.Live != nil, l.Name, l.Seekable())
				}
				if _, err := l.Again(); err != syscall.ESPIPE {
					t.Errorf("a pipe is read again: %v", err)
				}
				if n, _ := count(t, l.Reader); n != events {
					t.Errorf("%d events of a pipe, want %d", n, events)
				}
				if err := l.Soundness(); err != nil || l.Compressed() != form.compressed {
					t.Errorf("Soundness: %v, Compressed %v", err, l.Compressed())
				}
				if reports.Len() > 0 {
					t.Errorf("reported %q", reports)
				}
			})
		}
	}
}

// A log that is cut or damaged, within its compressed form or before it was compressed, is read as far
// as it is sound. Soundness names what is damaged.
func TestSoundness(t *testing.T) {
	data, events, _ := recorded(t, "append")
	damaged := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x10
		return b
	}
	for _, form := range forms {
		packed := form.pack(t, data)
		cut := form.pack(t, data[:len(data)/2]) // what remains of a log that was cut before it was compressed
		type trial struct {
			name string
			data []byte
			all  bool   // all events are read
			want string // in the message
		}
		trials := []trial{{"cut before", cut, false, "build.trace: log is "}}
		if form.compressed {
			trials = append(trials,
				trial{"cut after", packed[:len(packed)/2], false, form.name + " data "},
				trial{"checksum", damaged(packed, len(packed)-2), true, ", but its " + form.name + " data "})
		} else {
			trials = append(trials, trial{"cut by a byte", packed[:len(packed)-1], false, "build.trace: log is "})
		}
		for _, trial := range trials {
			t.Run(form.name+"/"+trial.name, func(t *testing.T) {
				env, _ := environment()
				l, err := Open(env, write(t, trial.data))
				if err != nil {
					t.Fatal(err)
				}
				defer l.File.Close()
				n, _ := count(t, l.Reader)
				if (n == events) != trial.all && trial.name != "cut by a byte" || n > events {
					t.Errorf("%d of %d events", n, events)
				}
				if err := l.Soundness(); err == nil || !strings.Contains(err.Error(), trial.want) {
					t.Errorf("Soundness is %v, want %q", err, trial.want)
				}
			})
		}
	}
}

// What is not a log is refused in one line with the name of the file, and the form in which it came.
func TestOpenRefuses(t *testing.T) {
	text := []byte(strings.Repeat("make: nothing to be done\n", 100))
	data, _, _ := recorded(t, "append")
	for name, trial := range map[string]struct {
		data []byte
		want string
	}{
		"empty":         {nil, "not a trace log"},
		"text":          {text, "not a trace log"},
		"gzip text":     {packGzip(t, text), "not a trace log in gzip data"},
		"zstd text":     {packZstd(t, text), "not a trace log in zstd data"},
		"gzip empty":    {packGzip(t, nil), "not a trace log in gzip data"},
		"gzip header":   {packGzip(t, data)[:6], "gzip data "},
		"zstd header":   {packZstd(t, data)[:6], "zstd data "},
		"gzip in gzip":  {packGzip(t, packGzip(t, data)), "gzip data holds compressed data"},
		"log of a byte": {data[:1], "not a trace log"},
	} {
		t.Run(name, func(t *testing.T) {
			env, _ := environment()
			file := write(t, trial.data)
			l, err := Open(env, file)
			if l != nil || err == nil || !strings.HasPrefix(err.Error(), file+": "+trial.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Open is %v, want %q", err, trial.want)
			}
			if _, err := Read(env, "pipe", piped(t, trial.data), nil); err == nil || !strings.HasPrefix(err.Error(), "pipe: "+trial.want) {
				t.Errorf("of a pipe: %v, want %q", err, trial.want)
			}
		})
	}
	env, _ := environment()
	for name, want := range map[string]string{tracetest.Dir(t): "Is a directory", filepath.Join(tracetest.Dir(t), "none"): "No such file or directory"} {
		if runtime.GOOS == "windows" { // it has errors of its own
			want = ""
		}
		if _, err := Open(env, name); err == nil || !strings.HasPrefix(err.Error(), name+": "+want) {
			t.Errorf("Open(%s) is %v, want %q", name, err, want)
		}
	}
}

// Output is flushed before a read blocks, and not before one that does not.
func TestFlushBeforeBlocking(t *testing.T) {
	tracetest.Only(t, runtime.GOOS == "linux", "Linux: elsewhere each read may block")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	flushed := make(chan struct{}, 10)
	live := &LiveReader{f: r, Flush: func() { flushed <- struct{}{} }}
	if _, err := w.WriteString("ready"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := live.Read(b); n != 5 || err != nil || len(flushed) > 0 {
		t.Fatalf("read %d bytes, %v, flushed %d times", n, err, len(flushed))
	}
	go func() {
		<-flushed // before the read returns, as it has nothing to return
		w.WriteString("later")
		w.Close()
	}()
	if n, err := live.Read(b); n != 5 || err != nil {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	if _, err := live.Read(b); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

// A read that waits ends when the other end of Stop is closed.
func TestStop(t *testing.T) {
	tracetest.Only(t, runtime.GOOS == "linux", "Linux: elsewhere a signal ends the process")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	stop, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stop.Close()
	live := &LiveReader{f: r, Stop: stop, Flush: func() { end.Close() }}
	if _, err := live.Read(make([]byte, 1)); err != os.ErrClosed {
		t.Fatalf("the read ended with %v", err)
	}
}
