package posixtrace

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// craftedLog makes a log in memory; change may alter its head.
func craftedLog(t testing.TB, seal bool, change func(s *tracelog.Super)) []byte {
	t.Helper()
	s := &tracelog.Super{
		Attributes: attr.Attributes{
			Name: "name", CreateTime: attr.Time{Sec: 1795169520}, ClockResolution: 1, StreamFullPolicy: tracelog.Flush, StreamSize: 1 << 20,
			MaxDataSize: 4096, LogFullPolicy: tracelog.Append,
		},
		ChunkSize: chunk.MaxSize, PID: 7, Host: "host", Command: []string{"a", "b"},
	}
	if change != nil {
		change(s)
	}
	var out bytes.Buffer
	w, err := tracelog.CreateForward(&out, s)
	if err != nil {
		t.Fatal(err)
	}
	w.Types([]tracelog.TypeDef{{ID: 40, Name: "a\x1b"}, {ID: 41, Name: "b"}})
	batch := tracelog.NewBatch(w)
	for i := range 5 {
		batch.Add(&chunk.Record{Tick: 1795169520e9 + uint64(i), Event: event.ID(40 + i%2), PID: 7, TID: 7, Data: []byte("data")})
	}
	batch.Flush()
	if seal {
		w.Seal(tracelog.Status{}, false)
	}
	return out.Bytes()
}

// Every log that opens can be written again (ptrace-filter -i); the copy is sound and has the
// same content.
func FuzzWriteLog(f *testing.F) {
	for _, seal := range []bool{true, false} {
		f.Add(craftedLog(f, seal, nil), true)
		f.Add(craftedLog(f, seal, func(s *tracelog.Super) {
			s.ClockResolution, s.StreamSize, s.MaxDataSize, s.LogSize, s.CreateTime.Sec = math.MaxUint64, math.MaxUint64, 1<<63, 1<<63-1, math.MinInt64
		}), true)
	}
	fd, err := unix.MemfdCreate("fuzz", unix.MFD_CLOEXEC)
	if err != nil {
		f.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "fuzz")
	f.Cleanup(func() { file.Close() })
	f.Fuzz(func(t *testing.T, log []byte, mend bool) {
		if len(log) > 1<<18 {
			return
		}
		log = bytes.Clone(log)
		if mend {
			hostile.FixChecksums(log)
		}
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(log, 0); err != nil {
			t.Fatal(err)
		}
		for _, from := range []io.Reader{file, bytes.NewReader(log)} {
			r, err := NewReader(from)
			if err != nil {
				continue
			}
			var out bytes.Buffer
			kept := uint64(0)
			if err := r.WriteLog(&out, func(rec *Record) bool { kept++; return true }); err != nil {
				t.Fatal(err)
			}
			state, _ := r.State()
			again, err := NewReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			n, last := uint64(0), int64(math.MinInt64)
			for {
				rec, err := again.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec.UnixNano < last || len(again.EventName(rec.ID)) > EventNameMax {
					t.Fatalf("%+v after %d", rec.EventInfo, last)
				}
				last = rec.UnixNano
				n++
			}
			if s, err := again.State(); s != LogFinished || n != kept {
				t.Fatalf("%v: %d events of %d, %v %v", state, n, kept, s, err)
			}
			if (state == LogUnfinished || state == LogDamaged) != (r.endStatus().LogOverrun && !(r.Status().LogOverrunStatus == StatusOverrun)) && r.Status().LogOverrunStatus != StatusOverrun {
				t.Fatalf("%v, but the new log does not say so", state)
			}
			again.Close()
			r.Close()
		}
	})
}

// watchedFIFO returns a new FIFO in dir and a function that reports whether a process has opened
// it since the last call.
func watchedFIFO(t *testing.T, dir string) (path string, opened func() bool) {
	path = filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return path, func() bool {
		n, _ := unix.Read(watch, make([]byte, 4096))
		return n > 0
	}
}

// A log names the file of its stream. A reader opens no file that cannot be a stream: opening
// alone triggers some devices, and releases a process that waits on a FIFO.
func TestReaderOpensOnlyStreamFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, opened := watchedFIFO(t, dir)
	path := filepath.Join(dir, "log")
	for _, stream := range []string{fifo, dir + "/s-0123456789abcdef/../fifo", "/dev/zero", "/", "", "fifo", dir} {
		log := craftedLog(t, false, func(s *tracelog.Super) { s.BootID, s.StreamPath = sys.BootID(), stream })
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if state, _ := r.State(); state == LogLive {
			t.Errorf("%q: the log is live", stream)
		}
		if opened() {
			t.Errorf("%q: the FIFO was opened", stream)
		}
		r.Close()
		f.Close()
	}
}

// A stream names its log, which may be a FIFO. A reader of the stream does not open it.
func TestReaderOpensOnlyLogFiles(t *testing.T) {
	fifo, opened := watchedFIFO(t, t.TempDir())
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := CreateWithLog(os.Getpid(), &Attr{LogFullPolicy: PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if info, err := s.Info(); err != nil || info.LogPath != fifo {
		t.Fatalf("the log is %q, %v", info.LogPath, err)
	}
	opened()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if opened() {
		t.Error("the reader of the stream opened the FIFO")
	}
}
