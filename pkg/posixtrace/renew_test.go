package posixtrace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// liveLog starts a stream with log.
func liveLog(t *testing.T, attr Attr) (*Stream, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := CreateWithLog(0, &attr, f)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s, f
}

// seen returns what a reader reports.
func seen(t *testing.T, r *Reader) (events []string) {
	t.Helper()
	for rec := range records(t, r) {
		events = append(events, fmt.Sprintf("%d %s %d %x", rec.UnixNano, r.EventName(rec.ID), rec.TID, rec.Data))
	}
	return events
}

// isFlushMark reports whether an event that seen returned is the start or the end of a flush.
func isFlushMark(event string) bool { return strings.Contains(event, " posix_trace_flush_st") }

// A renewed reader reports the same as a new one, after any change of the log.
func TestRenewedReaderMatchesNewReader(t *testing.T) {
	id, err := OpenEventID("renew.event")
	if err != nil {
		t.Fatal(err)
	}
	for name, attr := range map[string]Attr{
		"append":     {StreamSize: 16 << 10, StreamFullPolicy: PolicyFlush, LogFullPolicy: PolicyAppend},
		"until-full": {StreamSize: 16 << 10, StreamFullPolicy: PolicyFlush, LogFullPolicy: PolicyUntilFull, LogSize: 100 << 10},
		"loop":       {StreamSize: 16 << 10, StreamFullPolicy: PolicyFlush, LogFullPolicy: PolicyLoop, LogSize: 100 << 10},
		"none":       {StreamSize: 64 << 10, StreamFullPolicy: PolicyLoop},
	} {
		t.Run(name, func(t *testing.T) {
			var s *Stream
			var f *os.File
			if name == "none" {
				if s, err = Create(0, &attr); err == nil {
					err = s.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Shutdown()
			} else {
				s, f = liveLog(t, attr)
			}
			w := scribe{id: 1}
			r, err := s.Reader()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var since time.Time
			for round := range tracetest.Scale(40, 200, 1000) {
				for i := range 10 << (round % 7) {
					Event(id, w.next(i))
				}
				if round%5 == 1 {
					OpenEventID(fmt.Sprintf("renew.%s.%d", name, round))
				}
				if f != nil {
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				switch round % 13 {
				case 11:
					since = time.Now()
				case 12:
					if err := s.Clear(); err != nil {
						t.Fatal(err)
					}
				}
				for i := range round % 3 {
					Event(id, w.next(i))
				}
				if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
				if err := r.Renew(since); err != nil {
					t.Fatal(err)
				}
				fresh, err := s.Reader()
				if err != nil {
					t.Fatal(err)
				}
				fresh.Select(Selection{Since: since})
				got, want := seen(t, r), seen(t, fresh)
				fresh.Close()
				if f != nil && !slices.Equal(got, want) {
					// An automatic flush may have come between the two.
					got, want = slices.DeleteFunc(got, isFlushMark), slices.DeleteFunc(want, isFlushMark)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("round %d: a renewed reader has %d events, a new one %d", round, len(got), len(want))
				}
				a, why := r.State()
				if b, _ := fresh.State(); a != b {
					t.Fatalf("round %d: a renewed reader says %v (%v), a new one %v", round, a, why, b)
				}
				if err := s.Start(); err != nil {
					t.Fatal(err)
				}
			}
			if f == nil {
				return
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
			if err := r.Renew(since); err != nil {
				t.Fatal(err)
			}
			if state, err := r.State(); state != LogFinished {
				t.Errorf("after the end: %v, %v", state, err)
			}
		})
	}
}

// Opening a live log reads an amount that does not depend on the log's length: it happens under
// the stream's lock, which keeps flushes waiting.
func TestOpenCostIsIndependentOfLogLength(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	count := func() (n int64) {
		b, err := os.ReadFile("/proc/thread-self/io")
		if _, e := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil || e != nil {
			tracetest.Need(t, false, "/proc/thread-self/io")
		}
		return n
	}
	idle := -count()
	idle += count()
	id, err := OpenEventID("renew.long")
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []FullPolicy{PolicyAppend, PolicyLoop} {
		s, _ := liveLog(t, Attr{StreamSize: 16 << 10, StreamFullPolicy: PolicyFlush, LogFullPolicy: policy, LogSize: 16 << 20})
		w := scribe{id: 1}
		extend := func(n int) {
			for range n {
				for i := range 100 {
					Event(id, w.next(i))
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		extend(20)
		r, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		look := func() int64 {
			since := time.Now()
			extend(2)
			before := count()
			if err := r.Renew(since); err != nil {
				t.Fatal(err)
			}
			if n := len(seen(t, r)); n < 200 {
				t.Fatalf("%v: a look has %d events of 200", policy, n)
			}
			return count() - before - idle
		}
		look()
		short := look()
		extend(1000)
		look()
		if long := look(); long > 2*short+16<<10 {
			t.Errorf("%v: a look at a short log reads %d bytes, at a long one %d", policy, short, long)
		}
		// The first Reader reads the whole log before it takes the lock, and under it only what was
		// added meanwhile.
		file, err := openRegular(s.c.Mem.LogPath)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		size, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			t.Fatal(err)
		}
		before := count()
		if _, err := tracelog.OpenFile(file, size); err != nil {
			t.Fatal(err)
		}
		once := count() - before - idle
		before = count()
		fresh, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer fresh.Close()
		if twice := count() - before - idle; twice > once+once/4+16<<10 {
			t.Errorf("%v: a first look reads %d bytes, of a log that has %d to walk through", policy, twice, once)
		}
	}
}
