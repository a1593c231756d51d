package posixtrace

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
)

// numbered records events through several writers in turn, so that they lie in many chunks, and
// returns how many the stream took. They are numbered by time. The first writer records only
// one event.
func numbered(t *testing.T, s *Stream, total int) (n int) {
	t.Helper()
	id, err := OpenEventID("numbered.event")
	if err != nil {
		t.Fatal(err)
	}
	var recs []*Recorder
	for range 4 {
		r, err := s.Recorder()
		if err != nil {
			t.Fatal(err)
		}
		// A full stream loses events rather than flush: one flush is to fill the log.
		r.a.Writer.OnFull = nil
		recs = append(recs, r)
		defer r.Close()
	}
	var data [40]byte
	for n < total {
		binary.LittleEndian.PutUint64(data[:], uint64(n+1))
		ok := false
		switch k := n % 8; {
		case n == 0:
			ok = recs[0].Record(EventInfo{ID: id, PID: os.Getpid()}, data[:])
		case k < 3:
			ok = recs[k+1].Record(EventInfo{ID: id, PID: os.Getpid()}, data[:8+n%32])
		default:
			ok = recs[1].Record(EventInfo{ID: id, PID: os.Getpid()}, data[:8+n%32])
		}
		if !ok {
			break
		}
		n++
	}
	return n
}

// inLog returns the numbered events of a log, and whether it starts with START.
func inLog(t *testing.T, f *os.File, n int) (has []bool, start bool) {
	t.Helper()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	has = make([]bool, n+1)
	first := true
	for rec := range records(t, r) {
		if first {
			start, first = rec.ID == EventStart, false
		}
		if r.EventName(rec.ID) == "numbered.event" {
			has[binary.LittleEndian.Uint64(rec.Data)] = true
		}
	}
	return has, start
}

// When a log fills within one flush, it keeps the older events: the order of their times
// decides, not that of their chunks.
func TestFullLogKeepsOlderEvents(t *testing.T) {
	for _, policy := range []FullPolicy{PolicyLoop, PolicyUntilFull, PolicyFlush} {
		for _, kilo := range []int64{16, 64, 1024} {
			t.Run(fmt.Sprintf("%v/%dK", policy, kilo), func(t *testing.T) {
				s, f := liveLog(t, Attr{StreamSize: kilo << 10, StreamFullPolicy: policy, LogFullPolicy: PolicyUntilFull, LogSize: kilo << 10})
				total := 1 << 30
				if policy == PolicyLoop {
					total = int(kilo) * 34 // more than the log holds, no more than the stream
				}
				if policy == PolicyFlush {
					s.log.Halt() // it would flush early
				}
				n := numbered(t, s, total)
				if err := s.Shutdown(); err != nil {
					t.Fatal(err)
				}
				has, start := inLog(t, f, n)
				if !start {
					t.Error("the log does not begin with START")
				}
				kept, gap := 0, 0
				for i := 1; i <= n; i++ {
					switch {
					case !has[i]:
						gap = i
					case gap != 0:
						t.Fatalf("of %d events the log has number %d, and lacks number %d", n, i, gap)
					default:
						kept++
					}
				}
				if kept == n || kept < n/4 {
					t.Errorf("the log has %d of %d events", kept, n)
				}
			})
		}
	}
}

// All events of a batch have one time: the log keeps as many as fit.
func TestFullLogSplitsEventsOfOneTime(t *testing.T) {
	s, f := liveLog(t, Attr{StreamSize: 64 << 10, StreamFullPolicy: PolicyUntilFull, LogFullPolicy: PolicyUntilFull, LogSize: 64 << 10})
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	rec.a.Writer.OnFull = nil
	id, err := OpenEventID("numbered.event")
	if err != nil {
		t.Fatal(err)
	}
	at, n := rec.Now(), 0
	var data [64]byte
	for {
		binary.LittleEndian.PutUint64(data[:], uint64(n+1))
		if !rec.Record(EventInfo{ID: id, PID: os.Getpid(), UnixNano: at}, data[:]) {
			break
		}
		n++
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	has, start := inLog(t, f, n)
	kept := 0
	for i := 1; i <= n && has[i]; i++ {
		kept++
	}
	if !start || kept < 64<<10/72*9/10 {
		t.Errorf("the log has the first %d of %d events; START: %v", kept, n, start)
	}
	for i := kept + 1; i <= n; i++ {
		if has[i] {
			t.Fatalf("the log has event %d, and lacks %d", i, kept+1)
		}
	}
}
