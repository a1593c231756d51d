package posixtrace

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

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracetest"
)

// Section STA: start and stop.

var _ = conform("STA-01/posix_trace_start", func(t *testing.T) {
	s := flowStream(t, nil)
	id := flowID(t, "sta.rejected")
	var set EventSet
	set.Add(id)
	if err := s.SetFilter(set, FilterSet); err != nil {
		t.Fatal(err)
	}
	flowState(t, s, StatusSuspended, StatusNotFull)
	flowStart(t, s)
	flowState(t, s, StatusRunning, StatusNotFull)
	all := flowAll(t, s)
	flowWant(t, all, "START")
	have, err := DecodeSet([]byte(all[0].data))
	if err != nil || have != set {
		t.Errorf("START has the filter %v, %v, want the one in force", have, err)
	}
})

var _ = conform("STA-02/posix_trace_start", func(t *testing.T) {
	s := flowStream(t, nil)
	flowStart(t, s)
	flowStart(t, s)
	flowState(t, s, StatusRunning, StatusNotFull)
	Event(flowID(t, "sta"), []byte("x"))
	flowWant(t, flowAll(t, s), "START", "x")
})

var _ = conform("STA-03/posix_trace_start", func(t *testing.T) {
	t.Run("until-full", func(t *testing.T) {
		s := flowStream(t, flowSmall(PolicyUntilFull))
		flowStart(t, s)
		flowRecorder(t, s).fill(t)
		flowState(t, s, StatusSuspended, StatusFull)
		before := len(flowPeek(t, s))
		flowStart(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		flowIs(t, "number of events", len(flowPeek(t, s)), before)
	})
	t.Run("flush", func(t *testing.T) {
		s, path := flowLogged(t, flowSmall(PolicyFlush))
		flowStart(t, s)
		back := flowSwap(t, s, "/dev/full", syscall.O_RDWR)
		w := flowOther(t, s)
		w.fill(t)
		flowState(t, s, StatusSuspended, StatusFull)
		flowStart(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		flowStop(t, s) // else a flush by the owner could restart it just now
		back()
		flowShutdown(t, s)
		flowIs(t, "number of START events", len(flowTypes(flowLog(t, path), EventStart)), 1)
	})
	t.Run("loop", func(t *testing.T) {
		s := flowStream(t, flowSmall(PolicyLoop))
		flowStart(t, s)
		w := flowRecorder(t, s)
		for flowStatus(t, s).Lost == 0 {
			w.put()
		}
		flowState(t, s, StatusRunning, StatusFull)
		flowStop(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		if w.put() {
			t.Error("a stopped stream records")
		}
		flowStart(t, s)
		if st := flowStatus(t, s); st.StreamStatus != StatusRunning {
			t.Fatalf("a full flight recorder cannot be started again: %+v", st)
		}
		if !w.put() {
			t.Error("a started stream does not record")
		}
		all := flowAll(t, s)
		if n := len(all); n < 2 || all[n-2].ID != EventStart || flowNumber(t, all[n-1]) != w.n-1 {
			t.Errorf("the last events are %v, want START and %d", all[max(0, len(all)-3):], w.n-1)
		}
	})
})

var _ = conform("STA-04/posix_trace_stop", func(t *testing.T) {
	s := flowStream(t, nil)
	flowStart(t, s)
	Event(flowID(t, "sta"), []byte("x"))
	flowStop(t, s)
	flowState(t, s, StatusSuspended, StatusNotFull)
	Event(flowID(t, "sta"), []byte("y"))
	all := flowAll(t, s)
	flowWant(t, all, "START", "x", "STOP0")
	flowIs(t, "data of STOP", all[2].data, "\x00\x00\x00\x00")
})

var _ = conform("STA-05/posix_trace_stop", func(t *testing.T) {
	s := flowStream(t, nil)
	flowStop(t, s)
	flowState(t, s, StatusSuspended, StatusNotFull)
	flowStart(t, s)
	flowStop(t, s)
	flowStop(t, s)
	flowState(t, s, StatusSuspended, StatusNotFull)
	flowWant(t, flowAll(t, s), "START", "STOP0")
})

var _ = conform("STA-06/posix_trace_stop", func(t *testing.T) {
	t.Run("until-full", func(t *testing.T) {
		s := flowStream(t, flowSmall(PolicyUntilFull))
		flowStart(t, s)
		flowRecorder(t, s).fill(t)
		flowStop(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		stops := flowTypes(flowAll(t, s), EventStop)
		flowWant(t, stops, "STOP1")
	})
	t.Run("loop", func(t *testing.T) {
		s := flowStream(t, flowSmall(PolicyLoop))
		flowStart(t, s)
		w := flowRecorder(t, s)
		for flowStatus(t, s).Lost == 0 {
			w.put()
		}
		flowState(t, s, StatusRunning, StatusFull)
		flowStop(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		lost := flowStatus(t, s).Lost
		if w.put() {
			t.Error("a stopped stream records")
		}
		flowIs(t, "number of lost events", flowStatus(t, s).Lost, lost)
		flowIs(t, "number of STOP events", len(flowTypes(flowAll(t, s), EventStop)), 0)
	})
})

var _ = conform("STA-07/posix_trace_start/EINVAL", func(t *testing.T) {
	// EINTR is not there: neither call waits for anything that takes time.
	s := flowStream(t, nil)
	flowShutdown(t, s)
	wantErrno(t, s.Start(), syscall.EINVAL)
	wantErrno(t, s.Stop(), syscall.EINVAL)
	flowLacks(t, &Log{}, "Start")
	flowLacks(t, &Log{}, "Stop")
})

var _ = conform("STA-08", func(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, *flowSmall(PolicyUntilFull))
	c.Say("sta 1")
	flowStop(t, s)
	for range 500 { // more than there is room for
		c.Say("sta suspended 0123456789 0123456789 0123456789 0123456789 0123456789")
	}
	st := flowStatus(t, s)
	if st.Lost != 0 || st.StreamOverrunStatus != StatusNoOverrun || st.StreamFullStatus != StatusNotFull {
		t.Errorf("events of a suspended stream count: %+v", st)
	}
	flowWant(t, flowAll(t, s), "START", "1", "STOP0")
	flowStart(t, s)
	c.Say("sta 2")
	flowWant(t, flowAll(t, s), "START", "2")
})

var _ = conform("STA-09", func(t *testing.T) {
	s := flowStream(t, &Attr{StreamFullPolicy: PolicyUntilFull, StreamSize: 16 << 20})
	id := flowID(t, "sta")
	var end atomic.Bool
	var passed, allowed atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !end.Load() {
				if passed.Load() < allowed.Load() {
					Event(id, []byte("x"))
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
		// Some of the events meet each edge of the window.
		n := allowed.Add(200)
		flowStart(t, s)
		until(n - 100)
		flowStop(t, s)
		until(n)
	}
	end.Store(true)
	wg.Wait()
	on, starts, users := false, 0, 0
	all := flowAll(t, s)
	flowOrdered(t, all)
	for i, e := range all {
		switch e.ID {
		case EventStart, EventStop:
			if on == (e.ID == EventStart) {
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
	if starts != 50 || on || users == 0 {
		t.Errorf("%d START events, %d of users, still on: %v", starts, users, on)
	}
})

var _ = conform("STA-10", func(t *testing.T) {
	cause := func(t *testing.T, list []flowEvent, want int) {
		t.Helper()
		stops := flowTypes(list, EventStop)
		if len(stops) == 0 {
			t.Fatalf("no STOP in %v", list)
		}
		last := stops[len(stops)-1]
		n, err := DecodeInt([]byte(last.data))
		if err != nil || n != want || len(last.data) != 4 {
			t.Errorf("STOP has the data %q, %v, want the int %d", last.data, err, want)
		}
	}
	t.Run("call", func(t *testing.T) {
		s := flowStream(t, nil)
		flowStart(t, s)
		flowStop(t, s)
		cause(t, flowAll(t, s), StopByCall)
	})
	t.Run("shutdown", func(t *testing.T) {
		s, path := flowLogged(t, nil)
		flowStart(t, s)
		flowShutdown(t, s)
		cause(t, flowLog(t, path), StopByCall)
	})
	t.Run("stream", func(t *testing.T) {
		s := flowStream(t, flowSmall(PolicyUntilFull))
		flowStart(t, s)
		flowRecorder(t, s).fill(t)
		cause(t, flowAll(t, s), StopStreamFull)
	})
	t.Run("log", func(t *testing.T) {
		a := flowSmall(PolicyUntilFull)
		a.LogFullPolicy, a.LogSize = PolicyUntilFull, 1
		s, path := flowLogged(t, a)
		flowStart(t, s)
		w := flowRecorder(t, s)
		for flowStatus(t, s).LogFullStatus != StatusFull {
			for range 50 {
				w.put()
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		flowShutdown(t, s)
		all := flowLog(t, path)
		cause(t, all, StopLogFull)
	})
	t.Run("call, full to the last byte", func(t *testing.T) {
		// There is room for the smallest event and none for a STOP. It tells of the call
		// all the same, and the stop after it of the lack of room.
		put := func(w *flowWriter, size int) bool {
			return w.r.Record(EventInfo{ID: w.id, PID: os.Getpid()}, make([]byte, size))
		}
		fill := func(sizes ...int) (s *Stream, w *flowWriter, all bool) {
			s = flowStream(t, flowSmall(PolicyUntilFull))
			flowStart(t, s)
			w = flowRecorder(t, s)
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
			if !all || flowStatus(t, s).StreamStatus != StatusRunning {
				continue // not even the smallest
			}
			flowStop(t, s)
			if flowStatus(t, s).StreamFullStatus != StatusFull {
				continue // the STOP found room
			}
			found = true
			list := flowAll(t, s)
			cause(t, list, StopByCall)
			if e := list[len(list)-1]; len(list) != n+3 || e.ID != EventStop || e.PID != os.Getpid() || e.TID == 0 || e.Address == 0 {
				t.Errorf("%d events of %d, the last is %+v", len(list), n+3, e.EventInfo)
			}
			flowState(t, s, StatusSuspended, StatusNotFull)
			flowStart(t, s)
			w.fill(t)
			list = flowAll(t, s)
			cause(t, list, StopStreamFull)
			if e := flowTypes(list, EventStop)[0]; e.PID != 0 || e.TID != 0 || e.Address != 0 {
				t.Errorf("the automatic STOP is %+v", e.EventInfo)
			}
		}
		if !found {
			t.Error("never so full")
		}
	})
})

var _ = conform("STA-11", func(t *testing.T) {
	full := func(t *testing.T) (*Stream, *flowWriter) {
		s := flowStream(t, flowSmall(PolicyUntilFull))
		flowStart(t, s)
		w := flowRecorder(t, s)
		w.fill(t)
		flowStop(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		return s, w
	}
	t.Run("cancelled", func(t *testing.T) {
		s, w := full(t)
		all := flowAll(t, s)
		flowWant(t, flowTypes(all, EventStart, EventStop), "START", "STOP1")
		flowState(t, s, StatusSuspended, StatusNotFull)
		if w.put() {
			t.Error("it has restarted")
		}
		flowWant(t, flowAll(t, s))
		flowStart(t, s)
		flowState(t, s, StatusRunning, StatusNotFull)
		w.put()
		all = flowAll(t, s)
		flowWant(t, all, "START", "RESUME", strconv.Itoa(w.n-1))
	})
	t.Run("armed again", func(t *testing.T) {
		s, w := full(t)
		flowStart(t, s)
		flowState(t, s, StatusSuspended, StatusFull)
		flowAll(t, s)
		flowState(t, s, StatusRunning, StatusNotFull)
		if !w.put() {
			t.Error("it has not restarted")
		}
	})
})

var _ = conform("STA-12", func(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here := func(what string, e flowEvent) {
		t.Helper()
		f := runtime.FuncForPC(uintptr(e.Address))
		if e.PID != os.Getpid() || e.TID != syscall.Gettid() || f == nil || !strings.Contains(f.Name(), "posixtrace.init") && !strings.Contains(f.Name(), "posixtrace.glob") {
			name := "nowhere"
			if f != nil {
				name = f.Name()
			}
			t.Errorf("%s is of process %d, thread %d, in %s", what, e.PID, e.TID, name)
		}
	}
	s := flowStream(t, flowSmall(PolicyUntilFull))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetFilter(EventSet{}, FilterSet); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	all := flowAll(t, s)
	flowWant(t, all, "START", "FILTER", "STOP0")
	for _, e := range all {
		here(e.String(), e)
	}
	if all[0].Address == all[2].Address {
		t.Error("two calls have one address")
	}

	nobody := func(list []flowEvent, want ...string) {
		t.Helper()
		flowWant(t, list, want...)
		for _, e := range list {
			if e.PID != 0 || e.TID != 0 || e.Address != 0 {
				t.Errorf("%v is of process %d, thread %d, address %#x", e, e.PID, e.TID, e.Address)
			}
		}
	}
	flowStart(t, s)
	flowWant(t, flowAll(t, s), "START")
	w := flowRecorder(t, s)
	w.fill(t)
	marks := flowTypes(flowAll(t, s), EventStart, EventStop, EventOverflow, EventResume)
	w.put()
	marks = append(marks, flowTypes(flowAll(t, s), EventStart, EventStop, EventOverflow, EventResume)...)
	nobody(marks, "STOP1", "OVERFLOW", "START", "RESUME")

	l, path := flowLogged(t, nil)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	flowShutdown(t, l)
	nobody(flowTypes(flowLog(t, path), EventFlushStart, EventFlushStop), "FLUSH_START", "FLUSH_STOP", "FLUSH_START", "FLUSH_STOP")
})

var _ = conform("STA-13", func(t *testing.T) {
	s := flowStream(t, nil)
	var set EventSet
	set.Add(EventStart)
	set.Add(EventStop)
	if err := s.SetFilter(set, FilterSet); err != nil {
		t.Fatal(err)
	}
	flowStart(t, s)
	flowState(t, s, StatusRunning, StatusNotFull)
	Event(flowID(t, "sta"), []byte("x"))
	flowStop(t, s)
	flowState(t, s, StatusSuspended, StatusNotFull)
	Event(flowID(t, "sta"), []byte("y"))
	flowWant(t, flowAll(t, s), "x")
})
