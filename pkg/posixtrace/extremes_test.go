package posixtrace

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// huge are numbers at which sums and products of 32 and 64 bits overflow.
var huge = func() (list []int64) {
	for _, shift := range []uint{31, 32, 33, 47, 62} {
		list = append(list, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	return append(list, math.MaxInt64-4096, math.MaxInt64-1, math.MaxInt64, math.MinInt64, math.MinInt64+1, -1<<32, -1<<31, -1)
}()

// limitFiles keeps the files of a test from using gigabytes.
func limitFiles(t *testing.T, size uint64) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) })
}

// Sizes and counts at the ends of their types work, or fail with an error number of the
// standard; none wraps round to a small size.
func TestExtremeSizes(t *testing.T) {
	limitFiles(t, 64<<20)
	path := filepath.Join(t.TempDir(), "log")
	refused := []error{syscall.EINVAL, syscall.ENOMEM, syscall.ENOSPC, syscall.EFBIG, syscall.EOVERFLOW}
	made, not := 0, 0
	for _, n := range huge {
		for name, a := range map[string]Attr{
			"StreamSize": {StreamSize: n}, "MaxDataSize": {MaxDataSize: new(int(n))}, "LogSize": {LogSize: n, LogFullPolicy: PolicyLoop}, "LogSize until full": {LogSize: n, LogFullPolicy: PolicyUntilFull},
			"all": {StreamSize: n, MaxDataSize: new(int(n)), LogSize: n, LogFullPolicy: PolicyLoop},
		} {
			for _, withLog := range []bool{false, true} {
				var s *Stream
				var err error
				if withLog {
					var f *os.File
					if f, err = os.Create(path); err != nil {
						t.Fatal(err)
					}
					s, err = CreateWithLog(os.Getpid(), &a, f)
					f.Close()
				} else {
					s, err = Create(os.Getpid(), &a)
				}
				if err != nil {
					if !slices.ContainsFunc(refused, func(e error) bool { return errors.Is(err, e) }) {
						t.Errorf("%s %d, log %v: %v", name, n, withLog, err)
					}
					not++
					continue
				}
				made++
				got, err := s.Attr()
				if err != nil || got.StreamSize < min(a.StreamSize, 1) || a.StreamSize > 0 && got.StreamSize < a.StreamSize {
					t.Errorf("%s %d, log %v: a stream of %+v, %v", name, n, withLog, got, err)
				}
				if err := s.Start(); err != nil {
					t.Error(err)
				}
				Event(EventUnnamed, make([]byte, 100_000))
				if err := s.Shutdown(); err != nil {
					t.Errorf("%s %d, log %v: %v", name, n, withLog, err)
				}
			}
		}
	}
	if made == 0 || not == 0 {
		t.Errorf("%d streams were made, %d were not", made, not)
	}
	t.Logf("%d streams were made, %d were not", made, not)
}

// Likewise for numbers of event types, processes and times.
func TestExtremeNumbers(t *testing.T) {
	s, err := Create(os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	var set EventSet
	for _, n := range huge {
		set.Add(EventID(n))
		set.Has(EventID(n))
		set.Del(EventID(n))
		s.EventName(EventID(n))
		Event(EventID(n), nil)
		rec.Wants(EventID(n))
		rec.Record(EventInfo{ID: EventID(n), PID: int(n), TID: int(n), UnixNano: n, Address: uint64(n)}, nil)
		rec.Record(EventInfo{ID: EventUnnamed, PID: int(n), TID: int(n), UnixNano: n, Address: uint64(n)}, nil)
		if _, err := Create(int(n), nil); err == nil {
			t.Errorf("a stream for process %d", n)
		}
	}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, n := range huge {
		r.Select(Selection{Since: time.Unix(n, n), Until: time.Unix(-n, n)})
		for {
			ev, err := r.Next()
			if err != nil {
				break
			}
			if ev.PID < 0 || ev.TID < 0 || ev.ID <= 0 {
				t.Errorf("%+v", ev.EventInfo)
			}
		}
	}
}
