package conformance

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section SST: the status and the attributes of a stream.

var _ = conform("SST-01/posix_trace_get_status", func(t *testing.T) {
	// A status is consistent: it describes one instant. Before the first restart an
	// UNTIL_FULL stream that runs has lost nothing, and one that lost something does not run.
	for range 300 {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		id := eventID(t, "flow")
		var wg sync.WaitGroup
		var end atomic.Bool
		for range 2 {
			wg.Go(func() {
				for !end.Load() {
					posixtrace.Event(id, nil)
				}
			})
		}
		bad, st := false, posixtrace.Status{}
		for !bad && st.Lost < 100 {
			w.put()
			st = statusOf(t, s)
			over := st.StreamOverrunStatus == posixtrace.StatusOverrun
			bad = over != (st.Lost > 0) || over && (st.StreamStatus == posixtrace.StatusRunning || st.StreamFullStatus == posixtrace.StatusNotFull)
		}
		end.Store(true)
		wg.Wait()
		if bad {
			t.Fatalf("no instant has this status: %+v", st)
		}
		shutdownStream(t, s)
	}
})

var _ = conform("SST-02", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s := newStream(t, smallAttr(p))
		id := eventID(t, "flow")
		seen := map[[2]string]bool{}
		look := func() {
			st := statusOf(t, s)
			seen[[2]string{st.StreamStatus.String(), st.StreamFullStatus.String()}] = true
			if p != posixtrace.PolicyLoop && st.StreamStatus == posixtrace.StatusRunning && st.StreamFullStatus == posixtrace.StatusFull {
				t.Fatalf("running and full under %v", p)
			}
		}
		look()
		startStream(t, s)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20000 {
				posixtrace.Event(id, []byte("x"))
			}
		})
		for range 2000 {
			look()
		}
		wg.Wait()
		for statusOf(t, s).StreamFullStatus != posixtrace.StatusFull {
			posixtrace.Event(id, []byte("x"))
		}
		look()
		readAll(t, s)
		look()
		stopStream(t, s)
		look()
		want := 3
		if p == posixtrace.PolicyLoop {
			for startStream(t, s); statusOf(t, s).StreamFullStatus != posixtrace.StatusFull; {
				posixtrace.Event(id, []byte("x"))
			}
			stopStream(t, s)
			look()
			want = 4
		}
		if len(seen) != want {
			t.Errorf("%v: %d states were seen, want %d: %v", p, len(seen), want, seen)
		}
	}
})

var _ = conform("SST-03", func(t *testing.T) {
	full := func(t *testing.T, s *posixtrace.Stream) {
		t.Helper()
		startStream(t, s)
		w := newOtherNumberWriter(t, s)
		for statusOf(t, s).StreamFullStatus != posixtrace.StatusFull {
			w.put()
		}
	}
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s := newStream(t, smallAttr(p))
		full(t, s)
		readAll(t, s)
		wantEqual(t, "full status after reading", statusOf(t, s).StreamFullStatus, posixtrace.StatusNotFull)
		full(t, s)
		if err := s.Clear(); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "full status after clear", statusOf(t, s).StreamFullStatus, posixtrace.StatusNotFull)
		l, _ := newLogged(t, smallAttr(p))
		full(t, l)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "full status after a flush", statusOf(t, l).StreamFullStatus, posixtrace.StatusNotFull)
	}
})

var _ = conform("SST-04", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	w := newNumberWriter(t, s)
	n := w.fill(t)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
	read := 0
	for statusOf(t, s).StreamFullStatus == posixtrace.StatusFull {
		if _, ok := readNext(t, s); !ok {
			t.Fatal("it is empty, and still full")
		}
		read++
	}
	if read >= n {
		t.Fatalf("not full after %d events of %d", read, n)
	}
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	if w.put() {
		t.Error("it records before it is empty")
	}
	startStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	// The largest event fits.
	if !w.r.Record(posixtrace.EventInfo{ID: w.id}, make([]byte, 64)) {
		t.Error("the largest event does not fit")
	}
	all := readAll(t, s)
	wantEqual(t, "number of events", len(userEvents(all)), n+1+1-read)
	wantEvents(t, eventsOf(all, posixtrace.EventStop, posixtrace.EventStart), "STOP1", "START")
})

var _ = conform("SST-05", func(t *testing.T) {
	overrun := func(t *testing.T, s *posixtrace.Stream, want posixtrace.OverrunStatus) {
		t.Helper()
		for range 2 {
			wantEqual(t, "overrun by PeekStatus", statusOf(t, s).StreamOverrunStatus, want)
		}
		st, err := s.Status()
		if err != nil || st.StreamOverrunStatus != want {
			t.Errorf("status is %+v, %v, want %v", st, err, want)
		}
		wantEqual(t, "overrun afterwards", statusOf(t, s).StreamOverrunStatus, posixtrace.StatusNoOverrun)
		if st, err = s.Status(); err != nil || st.StreamOverrunStatus != posixtrace.StatusNoOverrun {
			t.Errorf("the next status is %+v, %v", st, err)
		}
	}
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyFlush} {
		t.Run(p.String(), func(t *testing.T) {
			var s *posixtrace.Stream
			if p == posixtrace.PolicyFlush {
				s, _ = newLogged(t, smallAttr(p))
				defer replaceLog(t, s, "/dev/full", syscall.O_RDWR)()
			} else {
				s = newStream(t, smallAttr(p))
			}
			overrun(t, s, posixtrace.StatusNoOverrun)
			startStream(t, s)
			w := newOtherNumberWriter(t, s)
			for range 3 {
				for lost := statusOf(t, s).Lost; statusOf(t, s).Lost == lost; {
					w.put()
				}
				overrun(t, s, posixtrace.StatusOverrun)
			}
		})
	}
	// No loss falls between two readings: the status that counts a loss reports it.
	t.Run("concurrent", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		w.fill(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 50000 {
				w.put()
			}
		}()
		last, _ := s.Status()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			st, err := s.Status()
			if err != nil || (st.Lost > last.Lost) != (st.StreamOverrunStatus == posixtrace.StatusOverrun) {
				t.Fatalf("after %d lost the status is %+v, %v", last.Lost, st, err)
			}
			last = st
		}
	})
})

// newPipeLogged makes a stream whose log is a pipe that is not read yet.
func newPipeLogged(t *testing.T) (s *posixtrace.Stream, r *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err = posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 256 << 10}, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s, f
}

var _ = conform("SST-06", func(t *testing.T) {
	for _, call := range []string{"flush", "shutdown", "full"} {
		t.Run(call, func(t *testing.T) {
			s, r := newPipeLogged(t)
			startStream(t, s)
			wantEqual(t, "flush status", statusOf(t, s).StreamFlushStatus, posixtrace.StatusNotFlushing)
			// More than a pipe holds.
			id := eventID(t, "flow")
			for range 200 {
				posixtrace.Event(id, make([]byte, 1000))
			}
			wantEqual(t, "flush status", statusOf(t, s).StreamFlushStatus, posixtrace.StatusNotFlushing)
			done := make(chan error, 1)
			m := memoryOf(t, s)
			var seen atomic.Bool
			go func() {
				switch call {
				case "flush":
					done <- s.Flush()
				case "shutdown":
					done <- s.Shutdown()
				case "full":
					rec, err := s.Recorder() // one that flushes a full stream
					for err == nil && !seen.Load() {
						rec.Record(posixtrace.EventInfo{ID: id}, make([]byte, 1000))
					}
					if err == nil {
						rec.Close()
					}
					done <- err
				}
			}()
			tracetest.Wait(t, "it is flushing", func() bool { return m.Status(false).Flushing })
			if call != "shutdown" {
				for range 3 {
					wantEqual(t, "flush status", statusOf(t, s).StreamFlushStatus, posixtrace.StatusFlushing)
				}
			}
			seen.Store(true)
			over := make(chan struct{})
			go func() { // reads until the end of the test
				defer close(over)
				io.Copy(io.Discard, r)
			}()
			defer func() { r.SetReadDeadline(time.Now()); <-over }()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if call == "full" {
				tracetest.Wait(t, "it is flushed", func() bool { return statusOf(t, s).StreamFlushStatus == posixtrace.StatusNotFlushing })
			}
			wantEqual(t, "flush status afterwards", m.Status(false).Flushing, false)
			if call != "shutdown" {
				shutdownStream(t, s)
			}
		})
	}
})

var _ = conform("SST-07", func(t *testing.T) {
	s, _ := newLogged(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	startStream(t, s)
	wantEqual(t, "flush error", statusOf(t, s).StreamFlushError, syscall.Errno(0))
	fails := func(path string, flags int, want syscall.Errno) {
		t.Helper()
		defer replaceLog(t, s, path, flags)()
		posixtrace.Event(eventID(t, "flow"), []byte("x"))
		wantErrno(t, s.Flush(), want)
	}
	fails("/dev/full", syscall.O_RDWR, syscall.ENOSPC)
	fails("/dev/null", syscall.O_RDONLY, syscall.EBADF)
	for range 2 {
		wantEqual(t, "flush error by PeekStatus", statusOf(t, s).StreamFlushError, syscall.ENOSPC)
	}
	st, err := s.Status()
	if err != nil || st.StreamFlushError != syscall.ENOSPC {
		t.Errorf("status is %+v, %v, want the first error", st, err)
	}
	wantEqual(t, "flush error afterwards", statusOf(t, s).StreamFlushError, syscall.Errno(0))
	fails("/dev/null", syscall.O_RDONLY, syscall.EBADF)
	if st, err = s.Status(); err != nil || st.StreamFlushError != syscall.EBADF {
		t.Errorf("status is %+v, %v, want the error since the last one", st, err)
	}
	// A flush that succeeds neither sets nor resets it.
	fails("/dev/full", syscall.O_RDWR, syscall.ENOSPC)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "flush error", statusOf(t, s).StreamFlushError, syscall.ENOSPC)
})

var _ = conform("SST-08", func(t *testing.T) {
	overrun := func(t *testing.T, s *posixtrace.Stream, want posixtrace.OverrunStatus) {
		t.Helper()
		for range 2 {
			wantEqual(t, "log overrun by PeekStatus", statusOf(t, s).LogOverrunStatus, want)
		}
		st, err := s.Status()
		if err != nil || st.LogOverrunStatus != want {
			t.Errorf("status is %+v, %v, want %v", st, err, want)
		}
		wantEqual(t, "log overrun afterwards", statusOf(t, s).LogOverrunStatus, posixtrace.StatusNoOverrun)
	}
	some := func(t *testing.T, s *posixtrace.Stream, w *numberWriter, n int) {
		t.Helper()
		for range n {
			w.put()
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("loop", func(t *testing.T) {
		a := smallAttr(posixtrace.PolicyUntilFull)
		a.LogFullPolicy, a.LogSize = posixtrace.PolicyLoop, 64<<10
		s, _ := newLogged(t, a)
		startStream(t, s)
		w := newNumberWriter(t, s)
		overrun(t, s, posixtrace.StatusNoOverrun)
		some(t, s, w, 10)
		overrun(t, s, posixtrace.StatusNoOverrun)
		for statusOf(t, s).LogFullStatus != posixtrace.StatusFull {
			wantEqual(t, "log overrun", statusOf(t, s).LogOverrunStatus, posixtrace.StatusNoOverrun)
			some(t, s, w, 100)
		}
		overrun(t, s, posixtrace.StatusOverrun)
		overrun(t, s, posixtrace.StatusNoOverrun)
		// The next loss sets it again.
		for range 64 {
			some(t, s, w, 100)
		}
		overrun(t, s, posixtrace.StatusOverrun)
		// With nothing to record each flush still writes its marks, and replaces what is
		// oldest by them: as long as that is an event, it is lost and reported; marks of
		// earlier flushes are no loss.
		idle, lost := 0, statusOf(t, s).LogLost
		for range 5000 {
			some(t, s, w, 0)
			now := statusOf(t, s).LogLost
			if now != lost {
				idle = 0
				overrun(t, s, posixtrace.StatusOverrun)
			} else {
				idle++
				overrun(t, s, posixtrace.StatusNoOverrun)
			}
			lost = now
			wantEqual(t, "log full status", statusOf(t, s).LogFullStatus, posixtrace.StatusFull)
			if idle == 300 {
				break
			}
		}
		if idle < 300 {
			t.Errorf("flushes of nothing go on losing events: %d", lost)
		}
		some(t, s, w, 100)
		if now := statusOf(t, s).LogLost; now == lost {
			overrun(t, s, posixtrace.StatusNoOverrun)
		} else {
			overrun(t, s, posixtrace.StatusOverrun)
		}
	})
	t.Run("until-full", func(t *testing.T) {
		a := smallAttr(posixtrace.PolicyUntilFull)
		a.LogFullPolicy, a.LogSize = posixtrace.PolicyUntilFull, 64<<10
		s, _ := newLogged(t, a)
		startStream(t, s)
		w := newNumberWriter(t, s)
		for statusOf(t, s).LogLost == 0 {
			wantEqual(t, "log overrun", statusOf(t, s).LogOverrunStatus, posixtrace.StatusNoOverrun)
			some(t, s, w, 100)
		}
		overrun(t, s, posixtrace.StatusOverrun)
		overrun(t, s, posixtrace.StatusNoOverrun)
	})
})

var _ = conform("SST-09", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
		t.Run(p.String(), func(t *testing.T) {
			a := smallAttr(posixtrace.PolicyUntilFull)
			a.LogFullPolicy, a.LogSize = p, 1
			s, _ := newLogged(t, a)
			startStream(t, s)
			w := newNumberWriter(t, s)
			wantEqual(t, "log full status", statusOf(t, s).LogFullStatus, posixtrace.StatusNotFull)
			for range 200 {
				for range 100 {
					w.put()
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			want := posixtrace.StatusFull
			if p == posixtrace.PolicyAppend {
				want = posixtrace.StatusNotFull
			}
			for range 2 {
				st, err := s.Status()
				if err != nil || st.LogFullStatus != want {
					t.Errorf("status is %+v, %v", st, err)
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Clear(); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "log full status after clear", statusOf(t, s).LogFullStatus, posixtrace.StatusNotFull)
		})
	}
})

var _ = conform("SST-10", func(t *testing.T) {
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	startStream(t, s)
	newNumberWriter(t, s).fill(t)
	wantErrno(t, s.Flush(), syscall.EINVAL)
	for range 2 {
		st, err := s.Status()
		if err != nil || st.LogOverrunStatus != posixtrace.StatusNoOverrun || st.LogFullStatus != posixtrace.StatusNotFull || st.StreamFlushStatus != posixtrace.StatusNotFlushing || st.StreamFlushError != 0 {
			t.Errorf("status is %+v, %v", st, err)
		}
	}
})

// recordAndLose records, loses, and returns the status of the log. read says whether
// the controller reads the status before.
func recordAndLose(t *testing.T, read bool) (now, stored posixtrace.Status, l *posixtrace.Log) {
	t.Helper()
	a := smallAttr(posixtrace.PolicyUntilFull)
	a.LogFullPolicy = posixtrace.PolicyAppend
	s, path := newLogged(t, a)
	startStream(t, s)
	w := newOtherNumberWriter(t, s)
	w.fill(t)
	for range 4 {
		w.put()
	}
	now = statusOf(t, s)
	if read {
		if _, err := s.Status(); err != nil {
			t.Fatal(err)
		}
	}
	shutdownStream(t, s)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l, err = posixtrace.Open(f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if stored, err = l.Status(); err != nil {
		t.Fatal(err)
	}
	return
}

var _ = conform("SST-11", func(t *testing.T) {
	_, first, l := recordAndLose(t, false)
	wantEqual(t, "overrun", first.StreamOverrunStatus, posixtrace.StatusOverrun)
	for range 3 {
		st, err := l.Status()
		if err != nil || st != first {
			t.Errorf("status is %+v, %v, at first it was %+v", st, err, first)
		}
		if _, _, err := l.Next(nil); err != nil {
			t.Fatal(err)
		}
	}
})

var _ = conform("SST-12", func(t *testing.T) {
	for _, read := range []bool{false, true} {
		now, stored, _ := recordAndLose(t, read)
		if now.Lost != 5 || stored.Lost != 5 {
			t.Errorf("lost are %d in the stream and %d in the log, want 5", now.Lost, stored.Lost)
		}
		want := posixtrace.StatusOverrun
		if read {
			want = posixtrace.StatusNoOverrun
		}
		wantEqual(t, "overrun", stored.StreamOverrunStatus, want)
		wantEqual(t, "status", stored.StreamStatus, posixtrace.StatusSuspended)
		wantEqual(t, "flush status", stored.StreamFlushStatus, posixtrace.StatusNotFlushing)
	}
})

var _ = conform("SST-13/posix_trace_get_status/EINVAL", func(t *testing.T) {
	s, path := newLogged(t, nil)
	shutdownStream(t, s)
	_, err := s.Status()
	wantErrno(t, err, syscall.EINVAL)
	_, err = s.Attr()
	wantErrno(t, err, syscall.EINVAL)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = l.Status()
	wantErrno(t, err, syscall.EINVAL)
	_, err = l.Attr()
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("SST-14/posix_trace_get_attr", func(t *testing.T) {
	want := posixtrace.StreamAttr{
		Name: "sst", Inheritance: posixtrace.InheritChildren, StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend,
		StreamSize: 100 << 10, MaxDataSize: 100, LogSize: 3 << 20,
	}
	before := time.Now()
	s, path := newLogged(t, new(want.Attr()))
	after := time.Now()
	a, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	if a.CreateTime.Before(before.Round(0)) || a.CreateTime.After(after.Round(0)) {
		t.Errorf("created at %v, between %v and %v", a.CreateTime, before, after)
	}
	if a.GenerationVersion == "" || a.ClockResolution <= 0 {
		t.Errorf("generation %q, resolution %v", a.GenerationVersion, a.ClockResolution)
	}
	want.CreateTime, want.GenerationVersion, want.ClockResolution = a.CreateTime, a.GenerationVersion, a.ClockResolution
	wantEqual(t, "attributes", a, want)
	shutdownStream(t, s)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	la, err := l.Attr()
	if err != nil || !la.CreateTime.Equal(want.CreateTime) {
		t.Errorf("the log says %+v, %v", la, err)
	}
	la.CreateTime = want.CreateTime
	wantEqual(t, "attributes in the log", la, want)
})

var _ = conform("SST-15", func(t *testing.T) {
	s := newStream(t, &posixtrace.Attr{Name: "before", MaxDataSize: new(8)})
	a, err := s.Attr()
	if err != nil {
		t.Fatal(err)
	}
	was := a
	a.Name, a.MaxDataSize, a.StreamFullPolicy, a.StreamSize = "after", 1000, posixtrace.PolicyUntilFull, 1
	if now, err := s.Attr(); err != nil || now != was {
		t.Errorf("attributes are %+v, %v, they were %+v", now, err, was)
	}
	startStream(t, s)
	posixtrace.Event(eventID(t, "sst"), []byte("0123456789"))
	wantEvents(t, readAll(t, s), "START", "01234567")
})

var _ = conform("SST-16", func(t *testing.T) {
	has := func(v any, member string, like any) {
		t.Helper()
		f, ok := reflect.TypeOf(v).FieldByName(member)
		if !ok || f.Type != reflect.TypeOf(like) {
			t.Errorf("%T has no member %s of type %T", v, member, like)
		}
	}
	for member, like := range map[string]any{
		"StreamStatus": posixtrace.StatusRunning, "StreamFullStatus": posixtrace.StatusFull, "StreamOverrunStatus": posixtrace.StatusOverrun,
		"StreamFlushStatus": posixtrace.StatusFlushing, "StreamFlushError": syscall.Errno(0),
		"LogOverrunStatus": posixtrace.StatusOverrun, "LogFullStatus": posixtrace.StatusFull,
	} {
		has(posixtrace.Status{}, member, like)
	}
	for member, like := range map[string]any{
		"ID": posixtrace.EventID(0), "PID": 0, "TID": 0, "Address": uint64(0), "UnixNano": int64(0), "Truncation": posixtrace.TruncationNone,
	} {
		has(posixtrace.EventInfo{}, member, like)
	}
})
