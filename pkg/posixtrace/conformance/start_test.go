package conformance

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Section STA: start and stop.

var _ = conform("STA-01/posix_trace_start", func(t *testing.T) {
	s := newStream(t, nil)
	id := eventID(t, "sta.rejected")
	var set posixtrace.EventSet
	set.Add(id)
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	startStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	all := readAll(t, s)
	wantEvents(t, all, "START")
	have, err := posixtrace.DecodeSet([]byte(all[0].data))
	if err != nil || have != set {
		t.Errorf("START has the filter %v, %v, want the one in force", have, err)
	}
})

var _ = conform("STA-02/posix_trace_start", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	startStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "sta"), []byte("x"))
	wantEvents(t, readAll(t, s), "START", "x")
})

var _ = conform("STA-03/posix_trace_start", func(t *testing.T) {
	t.Run("until-full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		newNumberWriter(t, s).fill(t)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		before := len(peekAll(t, s))
		startStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		wantEqual(t, "number of events", len(peekAll(t, s)), before)
	})
	t.Run("flush", func(t *testing.T) {
		s, path := newLogged(t, smallAttr(posixtrace.PolicyFlush))
		startStream(t, s)
		back := replaceLog(t, s, "/dev/full", syscall.O_RDWR)
		w := newOtherNumberWriter(t, s)
		w.fill(t)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		startStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		stopStream(t, s) // else a flush by the owner could restart it just now
		back()
		shutdownStream(t, s)
		wantEqual(t, "number of START events", len(eventsOf(readFinishedLog(t, path), posixtrace.EventStart)), 1)
	})
	t.Run("loop", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		w := newNumberWriter(t, s)
		for statusOf(t, s).Lost == 0 {
			w.put()
		}
		wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusFull)
		stopStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		if w.put() {
			t.Error("a stopped stream records")
		}
		startStream(t, s)
		if st := statusOf(t, s); st.StreamStatus != posixtrace.StatusRunning {
			t.Fatalf("a full flight recorder cannot be started again: %+v", st)
		}
		if !w.put() {
			t.Error("a started stream does not record")
		}
		all := readAll(t, s)
		if n := len(all); n < 2 || all[n-2].ID != posixtrace.EventStart || numberOf(t, all[n-1]) != w.n-1 {
			t.Errorf("the last events are %v, want START and %d", all[max(0, len(all)-3):], w.n-1)
		}
	})
})

var _ = conform("STA-04/posix_trace_stop", func(t *testing.T) {
	s := newStream(t, nil)
	startStream(t, s)
	posixtrace.Event(eventID(t, "sta"), []byte("x"))
	stopStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "sta"), []byte("y"))
	all := readAll(t, s)
	wantEvents(t, all, "START", "x", "STOP0")
	wantEqual(t, "data of STOP", all[2].data, "\x00\x00\x00\x00")
})

var _ = conform("STA-05/posix_trace_stop", func(t *testing.T) {
	s := newStream(t, nil)
	stopStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	startStream(t, s)
	stopStream(t, s)
	stopStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	wantEvents(t, readAll(t, s), "START", "STOP0")
})

var _ = conform("STA-06/posix_trace_stop", func(t *testing.T) {
	t.Run("until-full", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		newNumberWriter(t, s).fill(t)
		stopStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		stops := eventsOf(readAll(t, s), posixtrace.EventStop)
		wantEvents(t, stops, "STOP1")
	})
	t.Run("loop", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyLoop))
		startStream(t, s)
		w := newNumberWriter(t, s)
		for statusOf(t, s).Lost == 0 {
			w.put()
		}
		wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusFull)
		stopStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		lost := statusOf(t, s).Lost
		if w.put() {
			t.Error("a stopped stream records")
		}
		wantEqual(t, "number of lost events", statusOf(t, s).Lost, lost)
		wantEqual(t, "number of STOP events", len(eventsOf(readAll(t, s), posixtrace.EventStop)), 0)
	})
})

var _ = conform("STA-07/posix_trace_start/EINVAL", func(t *testing.T) {
	// There is no EINTR: neither call waits.
	s := newStream(t, nil)
	shutdownStream(t, s)
	wantErrno(t, s.Start(), syscall.EINVAL)
	wantErrno(t, s.Stop(), syscall.EINVAL)
	wantNoMethod(t, &posixtrace.Log{}, "Start")
	wantNoMethod(t, &posixtrace.Log{}, "Stop")
})

var _ = conform("STA-08", func(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, *smallAttr(posixtrace.PolicyUntilFull))
	c.Say("sta 1")
	stopStream(t, s)
	for range 500 { // more than there is room for
		c.Say("sta suspended 0123456789 0123456789 0123456789 0123456789 0123456789")
	}
	st := statusOf(t, s)
	if st.Lost != 0 || st.StreamOverrunStatus != posixtrace.StatusNoOverrun || st.StreamFullStatus != posixtrace.StatusNotFull {
		t.Errorf("events of a suspended stream count: %+v", st)
	}
	wantEvents(t, readAll(t, s), "START", "1", "STOP0")
	startStream(t, s)
	c.Say("sta 2")
	wantEvents(t, readAll(t, s), "START", "2")
})

var _ = conform("STA-09", func(t *testing.T) {
	s := newStream(t, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 16 << 20})
	id := eventID(t, "sta")
	var end atomic.Bool
	var passed, allowed atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !end.Load() {
				if passed.Load() < allowed.Load() {
					posixtrace.Event(id, []byte("x"))
					passed.Add(1)
				} else {
					runtime.Gosched()
				}
			}
		})
	}
	until := func(n int64) {
		for passed.Load() < n {
			runtime.Gosched()
		}
	}
	for range 50 {
		// 100 events meet the start, 100 pass in between, and 100 meet the stop.
		allowed.Add(100)
		startStream(t, s)
		n := allowed.Add(200)
		until(n - 100)
		stopStream(t, s)
		until(n)
	}
	end.Store(true)
	wg.Wait()
	on, starts, users := false, 0, 0
	all := readAll(t, s)
	wantOrdered(t, all)
	for i, e := range all {
		switch e.ID {
		case posixtrace.EventStart, posixtrace.EventStop:
			if on == (e.ID == posixtrace.EventStart) {
				t.Fatalf("event %d of %d, %v: started is %v", i, len(all), e, on)
			}
			on = !on
			if on {
				starts++
			}
		default:
			users++
			if !on {
				t.Fatalf("event %d of %d, %v, stands between STOP and START", i, len(all), e)
			}
		}
	}
	if starts != 50 || on || users < 50*90 { // a few are under way as the stream starts
		t.Errorf("%d START events, %d of users, still on: %v", starts, users, on)
	}
})

var _ = conform("STA-10", func(t *testing.T) {
	cause := func(t *testing.T, list []readEvent, want int) {
		t.Helper()
		stops := eventsOf(list, posixtrace.EventStop)
		if len(stops) == 0 {
			t.Fatalf("no STOP in %v", list)
		}
		last := stops[len(stops)-1]
		n, err := posixtrace.DecodeInt([]byte(last.data))
		if err != nil || n != want || len(last.data) != 4 {
			t.Errorf("STOP has the data %q, %v, want the int %d", last.data, err, want)
		}
	}
	t.Run("call", func(t *testing.T) {
		s := newStream(t, nil)
		startStream(t, s)
		stopStream(t, s)
		cause(t, readAll(t, s), posixtrace.StopByCall)
	})
	t.Run("shutdown", func(t *testing.T) {
		s, path := newLogged(t, nil)
		startStream(t, s)
		shutdownStream(t, s)
		cause(t, readFinishedLog(t, path), posixtrace.StopByCall)
	})
	t.Run("stream", func(t *testing.T) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		newNumberWriter(t, s).fill(t)
		cause(t, readAll(t, s), posixtrace.StopStreamFull)
	})
	t.Run("log", func(t *testing.T) {
		a := smallAttr(posixtrace.PolicyUntilFull)
		a.LogFullPolicy, a.LogSize = posixtrace.PolicyUntilFull, 1
		s, path := newLogged(t, a)
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
		shutdownStream(t, s)
		all := readFinishedLog(t, path)
		cause(t, all, posixtrace.StopLogFull)
	})
	t.Run("call, full to the last byte", func(t *testing.T) {
		// There is room for the smallest event and none for a STOP. The stream reports the call
		// all the same, and then the stop for lack of room.
		put := func(w *numberWriter, size int) bool {
			return w.r.Record(posixtrace.EventInfo{ID: w.id, PID: os.Getpid()}, make([]byte, size))
		}
		fill := func(sizes ...int) (s *posixtrace.Stream, w *numberWriter, all bool) {
			s = newStream(t, smallAttr(posixtrace.PolicyUntilFull))
			startStream(t, s)
			w = newNumberWriter(t, s)
			for _, size := range sizes {
				if !put(w, size) {
					return s, w, false
				}
			}
			return s, w, true
		}
		_, w, _ := fill()
		n := 0
		for put(w, 64) {
			n++
		}
		found := false
		for i := 0; i < 9*9 && !found; i++ {
			sizes := append(slices.Repeat([]int{64}, n-1), i%9*8, i/9*8)
			s, w, all := fill(sizes...)
			if !all || statusOf(t, s).StreamStatus != posixtrace.StatusRunning {
				continue // not even the smallest
			}
			stopStream(t, s)
			if statusOf(t, s).StreamFullStatus != posixtrace.StatusFull {
				continue // the STOP found room
			}
			found = true
			list := readAll(t, s)
			cause(t, list, posixtrace.StopByCall)
			if e := list[len(list)-1]; len(list) != n+3 || e.ID != posixtrace.EventStop || e.PID != os.Getpid() || e.TID == 0 || e.Address == 0 {
				t.Errorf("%d events of %d, the last is %+v", len(list), n+3, e.EventInfo)
			}
			wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
			startStream(t, s)
			w.fill(t)
			list = readAll(t, s)
			cause(t, list, posixtrace.StopStreamFull)
			if e := eventsOf(list, posixtrace.EventStop)[0]; e.PID != 0 || e.TID != 0 || e.Address != 0 {
				t.Errorf("the automatic STOP is %+v", e.EventInfo)
			}
		}
		if !found {
			t.Error("never so full")
		}
	})
})

var _ = conform("STA-11", func(t *testing.T) {
	full := func(t *testing.T) (*posixtrace.Stream, *numberWriter) {
		s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
		startStream(t, s)
		w := newNumberWriter(t, s)
		w.fill(t)
		stopStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		return s, w
	}
	t.Run("cancelled", func(t *testing.T) {
		s, w := full(t)
		all := readAll(t, s)
		wantEvents(t, eventsOf(all, posixtrace.EventStart, posixtrace.EventStop), "START", "STOP1")
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
		if w.put() {
			t.Error("it has restarted")
		}
		wantEvents(t, readAll(t, s))
		startStream(t, s)
		wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
		w.put()
		all = readAll(t, s)
		wantEvents(t, all, "START", "RESUME", strconv.Itoa(w.n-1))
	})
	t.Run("armed again", func(t *testing.T) {
		s, w := full(t)
		startStream(t, s)
		wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusFull)
		readAll(t, s)
		wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
		if !w.put() {
			t.Error("it has not restarted")
		}
	})
})

var _ = conform("STA-12", func(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here := func(what string, e readEvent) {
		t.Helper()
		f := runtime.FuncForPC(uintptr(e.Address))
		if e.PID != os.Getpid() || e.TID != syscall.Gettid() || f == nil || !strings.Contains(f.Name(), "conformance.init") && !strings.Contains(f.Name(), "conformance.glob") {
			name := "nowhere"
			if f != nil {
				name = f.Name()
			}
			t.Errorf("%s is of process %d, thread %d, in %s", what, e.PID, e.TID, name)
		}
	}
	s := newStream(t, smallAttr(posixtrace.PolicyUntilFull))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	all := readAll(t, s)
	wantEvents(t, all, "START", "FILTER", "STOP0")
	for _, e := range all {
		here(e.String(), e)
	}
	if all[0].Address == all[2].Address {
		t.Error("two calls have one address")
	}

	ofNoProcess := func(list []readEvent, want ...string) {
		t.Helper()
		wantEvents(t, list, want...)
		for _, e := range list {
			if e.PID != 0 || e.TID != 0 || e.Address != 0 {
				t.Errorf("%v is of process %d, thread %d, address %#x", e, e.PID, e.TID, e.Address)
			}
		}
	}
	startStream(t, s)
	wantEvents(t, readAll(t, s), "START")
	w := newNumberWriter(t, s)
	w.fill(t)
	marks := eventsOf(readAll(t, s), posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventResume)
	w.put()
	marks = append(marks, eventsOf(readAll(t, s), posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventResume)...)
	ofNoProcess(marks, "STOP1", "OVERFLOW", "START", "RESUME")

	l, path := newLogged(t, nil)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	shutdownStream(t, l)
	ofNoProcess(eventsOf(readFinishedLog(t, path), posixtrace.EventFlushStart, posixtrace.EventFlushStop), "FLUSH_START", "FLUSH_STOP", "FLUSH_START", "FLUSH_STOP")
})

var _ = conform("STA-13", func(t *testing.T) {
	s := newStream(t, nil)
	var set posixtrace.EventSet
	set.Add(posixtrace.EventStart)
	set.Add(posixtrace.EventStop)
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	startStream(t, s)
	wantState(t, s, posixtrace.StatusRunning, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "sta"), []byte("x"))
	stopStream(t, s)
	wantState(t, s, posixtrace.StatusSuspended, posixtrace.StatusNotFull)
	posixtrace.Event(eventID(t, "sta"), []byte("y"))
	wantEvents(t, readAll(t, s), "x")
})
