package conformance

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section CLR: clear.

func clearStream(t *testing.T, s *posixtrace.Stream) {
	t.Helper()
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
}

var _ = conform("CLR-01/posix_trace_clear/EINVAL", func(t *testing.T) {
	s := newStream(t, &posixtrace.Attr{Name: "clr", StreamFullPolicy: posixtrace.PolicyUntilFull})
	startStream(t, s)
	id, err := s.EventID("clr.named")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := s.Attr()
	w := newNumberWriter(t, s)
	for range 1000 {
		w.put()
		posixtrace.Event(w.id, []byte("0"))
	}
	// Part of it has been read, and some of the rest is on its way to the reader.
	for range 10 {
		readNext(t, s)
	}
	clearStream(t, s)
	wantEvents(t, readAll(t, s))
	wantEvents(t, peekAll(t, s))
	if name, err := s.EventName(id); err != nil || name != "clr.named" {
		t.Errorf("the type map does not survive: %q, %v", name, err)
	}
	if after, err := s.Attr(); err != nil || after != before {
		t.Errorf("attributes are %+v, %v, they were %+v", after, err, before)
	}
	posixtrace.Event(w.id, []byte("after"))
	wantEvents(t, readAll(t, s), "after")
	shutdownStream(t, s)
	wantErrno(t, s.Clear(), syscall.EINVAL)
	wantNoMethod(t, &posixtrace.Log{}, "Clear")
})

var _ = conform("CLR-02", func(t *testing.T) {
	s := newStream(t, nil)
	clearStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	wantEvents(t, readAll(t, s))
	startStream(t, s)
	clearStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "clr"), []byte("x"))
	wantEvents(t, readAll(t, s), "x")
	stopStream(t, s)
	clearStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "clr"), []byte("x"))
	wantEvents(t, readAll(t, s))
})

var _ = conform("CLR-03", func(t *testing.T) {
	fill := func(t *testing.T, p posixtrace.FullPolicy) (*posixtrace.Stream, *numberWriter) {
		s := newStream(t, smallAttr(p))
		startStream(t, s)
		w := newNumberWriter(t, s)
		for statusOf(t, s).Lost == 0 {
			w.put()
		}
		wantEqual(t, "full status", statusOf(t, s).StreamFullStatus, posixtrace.StatusFull)
		return s, w
	}
	cleared := func(t *testing.T, s *posixtrace.Stream) {
		t.Helper()
		clearStream(t, s)
		st := statusOf(t, s)
		if st.StreamFullStatus != posixtrace.StatusNotFull || st.StreamOverrunStatus != posixtrace.StatusNoOverrun {
			t.Errorf("status is %+v", st)
		}
	}
	t.Run("until-full", func(t *testing.T) {
		s, w := fill(t, posixtrace.PolicyUntilFull)
		cleared(t, s)
		wantEvents(t, readAll(t, s))
		startStream(t, s)
		w.put()
		wantEvents(t, readAll(t, s), "START", strconv.Itoa(w.n-1))
	})
	// However many marks of the loss have been reported before clear.
	for reported := range 4 {
		t.Run("loop "+strconv.Itoa(reported), func(t *testing.T) {
			s, w := fill(t, posixtrace.PolicyLoop)
			for range reported {
				readNext(t, s)
			}
			cleared(t, s)
			wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
			wantEvents(t, readAll(t, s))
			w.put()
			wantEvents(t, readAll(t, s), strconv.Itoa(w.n-1))
		})
	}
	t.Run("until-full reported", func(t *testing.T) {
		for reported := 1; reported <= 3; reported++ {
			s, w := fill(t, posixtrace.PolicyUntilFull)
			for {
				e, ok := readNext(t, s)
				if !ok || e.ID == posixtrace.EventStop {
					break
				}
			}
			for range reported - 1 {
				readNext(t, s)
			}
			cleared(t, s)
			wantEvents(t, readAll(t, s))
			startStream(t, s)
			w.put()
			for _, e := range readAll(t, s) {
				if e.ID != posixtrace.EventStart && !e.ID.User() {
					t.Errorf("%d reported: %v after clear", reported, e)
				}
			}
		}
	})
})

var _ = conform("CLR-04", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	w.fill(t)
	clearStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	for range 3 {
		if w.put() {
			t.Fatal("it has restarted")
		}
		wantEvents(t, readAll(t, s))
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	}
	wantEqual(t, "overrun", statusOf(t, s).StreamOverrunStatus, posixtrace.StatusNoOverrun)
	startStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	w.put()
	wantEvents(t, readAll(t, s), "START", strconv.Itoa(w.n-1))
	// From then on it behaves like any other stream.
	w.fill(t)
	wantEvents(t, eventsOf(readAll(t, s), posixtrace.EventStop, posixtrace.EventStart), "STOP1", "START")
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
})

var _ = conform("CLR-05", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	id := eventID(t, "clr.rejected")
	before, _ := s.Attr()
	err := s.FilterOps([]posixtrace.FilterOp{{How: posixtrace.FilterAdd, Patterns: []string{"clr.*"}}})
	if err != nil {
		t.Fatal(err)
	}
	posixtrace.Event(id, []byte("x"))
	if f, err := s.Filter(); err != nil || !f.Has(id) {
		t.Fatalf("the filter is %v, %v", f, err)
	}
	clearStream(t, s)
	if f, err := s.Filter(); err != nil || !f.Empty() {
		t.Errorf("the filter is %v, %v", f, err)
	}
	posixtrace.Event(id, []byte("y"))
	posixtrace.Event(eventID(t, "clr.registered later"), []byte("z"))
	wantEvents(t, readAll(t, s), "y", "z")
	if after, err := s.Attr(); err != nil || after != before {
		t.Errorf("attributes are %+v, %v, they were %+v", after, err, before)
	}
})

var _ = conform("CLR-06", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s := newStream(t, &posixtrace.Attr{StreamFullPolicy: p, StreamSize: 64 << 10, MaxDataSize: new(1000)})
		startStream(t, s)
		var end atomic.Bool
		var wg sync.WaitGroup
		for i := range 2 {
			id := eventID(t, "clr."+strconv.Itoa(i))
			wg.Go(func() {
				var buf [1000]byte
				for k := 0; !end.Load(); k++ {
					b := buf[:4+k*7919%996]
					for i := range b {
						b[i] = byte(len(b))
					}
					copy(b, strconv.Itoa(1000 + len(b))[1:])
					posixtrace.Event(id, b)
					if k%64 == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		events := 0
		for late := time.Now().Add(time.Minute); events < 500 && !t.Failed() && time.Now().Before(late); {
			clearStream(t, s)
			startStream(t, s) // it may have become full
			runtime.Gosched()
			for range 50 {
				e, ok := readNext(t, s)
				if !ok {
					break
				}
				if !e.ID.User() {
					continue
				}
				events++
				l := len(e.data)
				if l < 4 || e.data[:3] != strconv.Itoa(1000 + l)[1:] || e.data[3:] != string(bytes.Repeat([]byte{byte(l)}, l-3)) {
					end.Store(true)
					t.Errorf("a torn event: %q", e.data)
					break
				}
			}
		}
		end.Store(true)
		wg.Wait()
		if events == 0 {
			t.Error("no event was read")
		}
		clearStream(t, s)
		wantEvents(t, userEvents(readAll(t, s)))
	}
})

var _ = conform("CLR-07", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		for _, attached := range []bool{false, true} {
			name := p.String()
			if attached {
				name += " by another"
			}
			t.Run(name, func(t *testing.T) {
				s, path := newLogged(t, &posixtrace.Attr{Name: "clr07", StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: p, StreamSize: 1, LogSize: 64 << 10, MaxDataSize: new(64)})
				startStream(t, s)
				w := newNumberWriter(t, s)
				for statusOf(t, s).LogFullStatus != posixtrace.StatusFull {
					for range 50 {
						w.put()
					}
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				w.put()
				by := s
				if attached {
					var err error
					if by, err = posixtrace.Attach("clr07"); err != nil {
						t.Fatal(err)
					}
					defer by.Close()
				}
				clearStream(t, by)
				wantEqual(t, "log full status", statusOf(t, s).LogFullStatus, posixtrace.StatusNotFull)
				startStream(t, s)
				first := w.n
				if !w.put() {
					t.Error("a cleared stream does not record")
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				w.put()
				shutdownStream(t, s)
				all := withoutFlushMarks(readFinishedLog(t, path))
				want := []string{"START", strconv.Itoa(first), strconv.Itoa(first + 1), "STOP0"}
				if p == posixtrace.PolicyLoop {
					want = want[1:] // it was running all the time
				}
				wantEvents(t, all, want...)
			})
		}
	}
	t.Run("nothing of before", func(t *testing.T) {
		// Not even the FLUSH_STOP of an earlier flush.
		s, path := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyLoop})
		startStream(t, s)
		posixtrace.Event(eventID(t, "clr"), []byte("before"))
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		clearStream(t, s)
		posixtrace.Event(eventID(t, "clr"), []byte("after"))
		shutdownStream(t, s)
		wantEvents(t, readFinishedLog(t, path), "after", "STOP0", "FLUSH_START", "FLUSH_STOP")
	})
})

var _ = conform("CLR-08", func(t *testing.T) {
	s, path := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, s)
	id := eventID(t, "clr")
	posixtrace.Event(id, []byte("logged"))
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	st, _ := os.Stat(path)
	posixtrace.Event(id, []byte("cleared"))
	clearStream(t, s)
	if now, err := os.Stat(path); err != nil || now.Size() < st.Size() {
		t.Errorf("the log has shrunk: %v", err)
	}
	posixtrace.Event(id, []byte("after"))
	shutdownStream(t, s)
	wantEvents(t, withoutFlushMarks(readFinishedLog(t, path)), "START", "logged", "after", "STOP0")
})

var _ = conform("CLR-09", func(t *testing.T) {
	// It waits for a flush that writes to a pipe without a reader.
	s, r := newPipeLogged(t)
	startStream(t, s)
	id := eventID(t, "clr")
	for range 200 {
		posixtrace.Event(id, make([]byte, 1000))
	}
	flushed, cleared := make(chan error, 1), make(chan error, 1)
	go func() { flushed <- s.Flush() }()
	tracetest.Wait(t, "it is flushing", func() bool { return statusOf(t, s).StreamFlushStatus == posixtrace.StatusFlushing })
	go func() { cleared <- s.Clear() }()
	for range 1000 {
		runtime.Gosched()
		if len(cleared) > 0 && len(flushed) == 0 {
			t.Fatal("clear does not wait for the flush")
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		discardLog(r)
	}()
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if err := <-cleared; err != nil {
		t.Error(err)
	}
	shutdownStream(t, s)
	stopDiscarding(r)
	<-over

	l, _ := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 1, LogSize: 1, MaxDataSize: new(64)})
	startStream(t, l)
	w := newOtherNumberWriter(t, l)
	for statusOf(t, l).LogOverrunStatus != posixtrace.StatusOverrun {
		w.fill(t)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	back := replaceLog(t, l, "/dev/full", syscall.O_RDWR)
	wantErrno(t, l.Flush(), syscall.ENOSPC)
	back()
	wantEqual(t, "flush error", statusOf(t, l).StreamFlushError, syscall.ENOSPC)
	clearStream(t, l)
	st := statusOf(t, l)
	if st.StreamFlushError != 0 || st.LogOverrunStatus != posixtrace.StatusNoOverrun {
		t.Errorf("status is %+v", st)
	}
})

// discardLog reads until stopDiscarding.
func discardLog(r *os.File) { io.Copy(io.Discard, r) }

func stopDiscarding(r *os.File) { r.SetReadDeadline(time.Now()) }

var _ = conform("CLR-09/counts", func(t *testing.T) {
	// A full LOOP log counts from zero again: the events kept and lost after the clear are the events
	// recorded since.
	s, path := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyLoop, StreamSize: 16 << 10, LogSize: 1, MaxDataSize: new(64)})
	startStream(t, s)
	w := newOtherNumberWriter(t, s)
	flush := func(n int) {
		t.Helper()
		for range n {
			w.put()
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	m := memoryOf(t, s)
	used := func() bool { used, all := m.Used(); return used >= all-1 }
	for statusOf(t, s).LogFullStatus != posixtrace.StatusFull {
		flush(100)
	}
	for range 30 {
		flush(100)
	}
	clearStream(t, s)
	before, n := statusOf(t, s).LogLost, w.n
	for !used() { // more than the log holds, in one flush
		w.put()
	}
	flush(0)
	if st := statusOf(t, s); st.LogLost == before || st.LogFullStatus != posixtrace.StatusFull || st.LogOverrunStatus != posixtrace.StatusOverrun || st.Lost != 0 {
		t.Fatalf("after a flush of %d events: %+v", w.n-n, st)
	}
	for range 30 {
		flush(100)
	}
	shutdownStream(t, s)
	all, st := readLog(t, path)
	kept := countOf(all, w.id) + countOf(all, posixtrace.EventStop)
	wantEqual(t, "kept and lost", kept+int(st.LogLost-before), w.n-n+1)
})
