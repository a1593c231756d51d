package conformance

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	// pair: passes two trace points by turns, 200 times for each line of input.
	tracetest.Helpers["pair"] = func(args []string) {
		a, _ := posixtrace.OpenEventID("fil.a")
		b, _ := posixtrace.OpenEventID("fil.b")
		fmt.Println(a, b)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			for range 200 {
				posixtrace.Event(a, nil)
				posixtrace.Event(b, nil)
				time.Sleep(time.Microsecond)
			}
			fmt.Println("done")
		}
	}
}

func setOf(ids ...posixtrace.EventID) (s posixtrace.EventSet) {
	for _, id := range ids {
		s.Add(id)
	}
	return s
}

// wantFilter fails the test unless the stream's filter is the set.
func wantFilter(t *testing.T, s *posixtrace.Stream, want posixtrace.EventSet) {
	t.Helper()
	if f, err := s.Filter(); f != want || err != nil {
		t.Errorf("the filter is another one, %v", err)
	}
}

func idsOf(t *testing.T, s *posixtrace.Stream) (list []posixtrace.EventID) {
	t.Helper()
	for _, ev := range allUserEvents(t, s) {
		list = append(list, ev.ID)
	}
	return list
}

var _ = conform("FIL-01", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	a, b := eventID(t, "fil.one.a"), eventID(t, "fil.one.b")
	s.SetFilter(setOf(a), posixtrace.FilterSet)
	s.Start()
	posixtrace.Event(a, nil)
	posixtrace.Event(b, nil)
	posixtrace.Event(posixtrace.EventUnnamed, nil)
	if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint([]posixtrace.EventID{posixtrace.EventStart, b, posixtrace.EventUnnamed}) {
		t.Errorf("events %v", l)
	}
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	posixtrace.Event(a, nil)
	if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint([]posixtrace.EventID{posixtrace.EventFilter, a}) {
		t.Errorf("events %v", l)
	}
})

// filterSteps applies sets one after the other, not running and running, and
// checks the filter after each.
func filterSteps(t *testing.T, how posixtrace.FilterHow, f func(old, set posixtrace.EventSet) posixtrace.EventSet) {
	t.Helper()
	s := newStreamOf(t, 0, posixtrace.Attr{})
	var all, system posixtrace.EventSet
	all.Fill(posixtrace.FillAll)
	system.Fill(posixtrace.FillSystem)
	for _, begin := range []posixtrace.EventSet{{}, setOf(1, 40, 4095), system, all} {
		for _, set := range []posixtrace.EventSet{{}, setOf(40), setOf(63, 64, 65, 4095), system, all} {
			for range 2 {
				if err := s.SetFilter(begin, posixtrace.FilterSet); err != nil {
					t.Fatal(err)
				}
				before := set
				if err := s.SetFilter(set, how); err != nil {
					t.Fatal(err)
				}
				if set != before {
					t.Error("the caller's set has changed")
				}
				wantFilter(t, s, f(begin, set))
				s.Start()
			}
			s.Stop()
		}
	}
}

var _ = conform("FIL-02/posix_trace_set_filter", func(t *testing.T) {
	filterSteps(t, posixtrace.FilterSet, func(old, set posixtrace.EventSet) posixtrace.EventSet { return set })
})

var _ = conform("FIL-03/posix_trace_set_filter", func(t *testing.T) {
	filterSteps(t, posixtrace.FilterAdd, func(old, set posixtrace.EventSet) posixtrace.EventSet {
		for id := posixtrace.EventID(1); id < 4096; id++ {
			if set.Has(id) {
				old.Add(id)
			}
		}
		return old
	})
})

var _ = conform("FIL-04/posix_trace_set_filter", func(t *testing.T) {
	filterSteps(t, posixtrace.FilterSub, func(old, set posixtrace.EventSet) posixtrace.EventSet {
		for id := posixtrace.EventID(1); id < 4096; id++ {
			if set.Has(id) {
				old.Del(id)
			}
		}
		return old
	})
})

var _ = conform("FIL-05/posix_trace_set_filter/EINVAL", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	old := setOf(40, 50)
	s.SetFilter(old, posixtrace.FilterSet)
	allUserEvents(t, s)
	for _, how := range []posixtrace.FilterHow{3, 4, 100, 255} {
		wantErrno(t, s.SetFilter(setOf(60), how), syscall.EINVAL)
		wantErrno(t, s.FilterOps([]posixtrace.FilterOp{{How: posixtrace.FilterSet}, {How: how, Set: setOf(60)}}), syscall.EINVAL)
		wantFilter(t, s, old)
	}
	if l := idsOf(t, s); len(l) != 0 {
		t.Errorf("events %v", l)
	}
})

var _ = conform("FIL-06/posix_trace_set_filter", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	change := func(id posixtrace.EventID) {
		t.Helper()
		if err := s.SetFilter(setOf(id), posixtrace.FilterSet); err != nil {
			t.Error(err)
		}
		wantFilter(t, s, setOf(id))
	}
	change(41)
	s.Start()
	change(42)
	s.Stop()
	change(43)
	s.Start()
	wantFilter(t, s, setOf(43))
	recordUnnamed(1)
	s.Clear()
	change(44)
	s.Shutdown()
	logged, _ := newLoggedOf(t, 0, posixtrace.Attr{})
	s = logged
	change(45)
	s.Start()
	change(46)
	s.Flush()
	change(47)
})

var _ = conform("FIL-07/posix_trace_set_filter", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	a, b, c := setOf(41), setOf(42, 4095), setOf(41, 42, 43, 4095)
	s.SetFilter(a, posixtrace.FilterSet) // no event
	s.Start()
	s.SetFilter(b, posixtrace.FilterSet)
	s.SetFilter(setOf(41, 43), posixtrace.FilterAdd)
	s.Stop()
	s.SetFilter(a, posixtrace.FilterSet) // no event
	s.SetFilter(b, posixtrace.FilterSet) // no event
	s.Start()
	buf := make([]byte, 4096)
	var seen []string
	for {
		ev, n, err := s.TryNext(buf)
		if err != nil {
			break
		}
		name, _ := s.EventName(ev.ID)
		seen = append(seen, strings.TrimPrefix(name, "posix_trace_"))
		switch {
		case ev.ID == posixtrace.EventFilter:
			old, set, err := posixtrace.DecodeFilter(buf[:n])
			first := len(seen) == 2
			if err != nil || first && (old != a || set != b) || !first && (old != b || set != c) {
				t.Errorf("event %d has other sets, %v", len(seen), err)
			}
		case ev.ID == posixtrace.EventStart:
			want := a
			if len(seen) > 1 {
				want = b
			}
			if set, err := posixtrace.DecodeSet(buf[:n]); set != want || err != nil {
				t.Errorf("START %d has another set, %v", len(seen), err)
			}
		}
	}
	if want := "[start filter filter stop start]"; fmt.Sprint(seen) != want {
		t.Errorf("events %v, want %v", seen, want)
	}
})

// FILTER is recorded also when nothing changes, and stands between the events
// judged by the old and by the new filter.
var _ = conform("FIL-08/posix_trace_set_filter", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterAdd)
	s.SetFilter(setOf(40), posixtrace.FilterSub)
	if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint([]posixtrace.EventID{posixtrace.EventStart, posixtrace.EventFilter, posixtrace.EventFilter, posixtrace.EventFilter}) {
		t.Errorf("events %v", l)
	}
	s.Shutdown()

	c := tracetest.Start(t, "pair")
	s = newStreamOf(t, c.PID, posixtrace.Attr{StreamSize: 1 << 20})
	var a, b posixtrace.EventID
	fmt.Sscan(c.Line(), &a, &b)
	s.Start()
	// The next events come when the reader has those before: however slow it is, the stream never
	// overruns.
	var drained atomic.Int64
	var over atomic.Bool
	var recorder sync.WaitGroup
	recorder.Go(func() {
		for !over.Load() {
			n := drained.Load()
			fmt.Fprintln(c.In, "go")
			if l, err := c.Out.ReadString('\n'); l != "done\n" {
				t.Errorf("pair says %q, %v", l, err)
				return
			}
			for drained.Load() == n && !over.Load() {
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	defer recorder.Wait()
	defer over.Store(true)
	buf := make([]byte, 4096)
	var filter posixtrace.EventSet
	events, filters, changes := 0, 0, 0
	read := func(stop func() bool) {
		for end := time.Now().Add(time.Minute); !stop() && time.Now().Before(end); {
			ev, n, err := s.TryNext(buf)
			switch {
			case err == posixtrace.ErrUnavailable:
				drained.Add(1)
				continue
			case err != nil:
				t.Fatal(err)
			case ev.ID == posixtrace.EventFilter:
				old, set, err := posixtrace.DecodeFilter(buf[:n])
				if old != filter || err != nil {
					t.Fatalf("FILTER %d: not the old set, %v", filters, err)
				}
				filter = set
				filters++
			case ev.ID == posixtrace.EventOverflow:
				t.Fatal("the stream has overrun")
			default:
				events++
				if filter.Has(ev.ID) {
					t.Fatalf("event %d of type %d after FILTER %d, which excludes it", events, ev.ID, filters)
				}
			}
		}
	}
	read(func() bool { return events > 10 })
	for i := range 60 {
		set := setOf([]posixtrace.EventID{a, b}[i%2])
		if i%3 == 2 {
			set = posixtrace.EventSet{}
		}
		if i%10 == 9 {
			set = setOf(a, b)
		}
		if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
			t.Fatal(err)
		}
		changes++
		n := events
		read(func() bool { return filters == changes && (events > n+2 || set == setOf(a, b)) })
	}
	if filters != changes {
		t.Errorf("%d FILTER events of %d", filters, changes)
	}
})

// There is no context to cancel, and signals never interrupt it half-way.
var _ = conform("FIL-09/posix_trace_set_filter", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{StreamSize: 1 << 20})
	duringSignals(t, func() {
		for i := range posixtrace.EventID(200) {
			if err := s.SetFilter(setOf(100+i), posixtrace.FilterSet); err != nil {
				t.Fatal(err)
			}
			wantFilter(t, s, setOf(100+i))
		}
	})
	if n := len(idsOf(t, s)); n != 201 {
		t.Errorf("%d events, want 201", n)
	}
})

var _ = conform("FIL-10", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	user := eventID(t, "fil.ten")
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	all := func(filter posixtrace.EventSet, want ...posixtrace.EventID) {
		t.Helper()
		s.SetFilter(filter, posixtrace.FilterSet)
		s.Start()
		posixtrace.Event(user, nil)
		posixtrace.Event(posixtrace.EventUnnamed, nil)
		rec.Record(posixtrace.EventInfo{ID: posixtrace.EventProcExit}, nil)
		s.SetFilter(filter, posixtrace.FilterAdd)
		s.Stop()
		if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint(want) {
			t.Errorf("events %v, want %v", l, want)
		}
	}
	all(posixtrace.EventSet{}, posixtrace.EventStart, user, posixtrace.EventUnnamed, posixtrace.EventProcExit, posixtrace.EventFilter, posixtrace.EventStop)
	all(setOf(user), posixtrace.EventStart, posixtrace.EventUnnamed, posixtrace.EventProcExit, posixtrace.EventFilter, posixtrace.EventStop)
	all(setOf(posixtrace.EventUnnamed), posixtrace.EventStart, user, posixtrace.EventProcExit, posixtrace.EventFilter, posixtrace.EventStop)
	all(setOf(posixtrace.EventProcExit), posixtrace.EventStart, user, posixtrace.EventUnnamed, posixtrace.EventFilter, posixtrace.EventStop)
	all(setOf(posixtrace.EventStart, posixtrace.EventStop), user, posixtrace.EventUnnamed, posixtrace.EventProcExit, posixtrace.EventFilter)
	all(setOf(posixtrace.EventFilter), posixtrace.EventStart, user, posixtrace.EventUnnamed, posixtrace.EventProcExit, posixtrace.EventStop)
	var every posixtrace.EventSet
	every.Fill(posixtrace.FillAll)
	all(every)
	// FILTER is dropped only when it is in both.
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	s.Start()
	s.SetFilter(setOf(posixtrace.EventFilter), posixtrace.FilterSet)
	s.SetFilter(setOf(posixtrace.EventFilter, user), posixtrace.FilterSet) // in both
	s.SetFilter(setOf(user), posixtrace.FilterSet)
	if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint([]posixtrace.EventID{posixtrace.EventStart, posixtrace.EventFilter, posixtrace.EventFilter}) {
		t.Errorf("events %v", l)
	}
})

var _ = conform("FIL-11", func(t *testing.T) {
	hidden := setOf(posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFilter)
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s := newStreamOf(t, 0, posixtrace.Attr{StreamSize: 1, StreamFullPolicy: p})
		s.SetFilter(hidden, posixtrace.FilterSet)
		state := func(what string, want posixtrace.RunStatus) {
			t.Helper()
			if st, err := s.PeekStatus(); st.StreamStatus != want || err != nil {
				t.Errorf("%v, %s: %v, %v", p, what, st.StreamStatus, err)
			}
		}
		s.Start()
		state("started", posixtrace.StatusRunning)
		s.Stop()
		state("stopped", posixtrace.StatusSuspended)
		s.Start()
		recordUnnamed(20000)
		if p == posixtrace.PolicyUntilFull {
			state("full", posixtrace.StatusSuspended)
		}
		if st, _ := s.Status(); st.StreamFullStatus != posixtrace.StatusFull || st.StreamOverrunStatus != posixtrace.StatusOverrun || st.Lost == 0 {
			t.Errorf("%v: %+v", p, st)
		}
		n := 0
		for _, id := range idsOf(t, s) {
			if id != posixtrace.EventUnnamed {
				t.Errorf("%v: event %d", p, id)
			}
			n++
		}
		if n == 0 {
			t.Errorf("%v: nothing was recorded", p)
		}
		state("read empty", posixtrace.StatusRunning)
		recordUnnamed(1)
		if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint([]posixtrace.EventID{posixtrace.EventUnnamed}) {
			t.Errorf("%v: after it %v", p, l)
		}
	}
})

var _ = conform("FIL-12/posix_trace_get_filter/EINVAL", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{Name: "fil.twelve"})
	wantFilter(t, s, posixtrace.EventSet{})
	set := setOf(1, 32, 33, 4095)
	s.SetFilter(set, posixtrace.FilterSet)
	wantFilter(t, s, set)
	f, _ := s.Filter()
	f.Add(50) // a copy
	wantFilter(t, s, set)
	// Another connection sees it, too.
	a, err := posixtrace.Attach("fil.twelve")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	wantFilter(t, a, set)
	s.Shutdown()
	_, err = s.Filter()
	wantErrno(t, err, syscall.EINVAL)
	_, err = a.Filter()
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("FIL-13/posix_trace_set_filter/EINVAL", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{})
	s.Shutdown()
	wantErrno(t, s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet), syscall.EINVAL)
	wantErrno(t, s.FilterOps(nil), syscall.EINVAL)
	_, err := s.Filter()
	wantErrno(t, err, syscall.EINVAL)
	// A log has no such methods.
	l := any(openLogAt(t, path))
	if _, ok := l.(interface {
		SetFilter(posixtrace.EventSet, posixtrace.FilterHow) error
	}); ok {
		t.Error("a log has SetFilter")
	}
	if _, ok := l.(interface {
		Filter() (posixtrace.EventSet, error)
	}); ok {
		t.Error("a log has Filter")
	}
})

var _ = conform("FIL-14", func(t *testing.T) {
	var streams []*posixtrace.Stream
	for range 5 {
		streams = append(streams, running(t, 0, posixtrace.Attr{}))
	}
	ids := make([]posixtrace.EventID, 5)
	for i := range ids {
		ids[i] = eventID(t, "fil.fourteen."+strconv.Itoa(i))
	}
	for i, s := range streams {
		s.SetFilter(setOf(ids[i]), posixtrace.FilterSet)
	}
	for _, id := range ids {
		posixtrace.Event(id, nil)
	}
	for i, s := range streams {
		wantFilter(t, s, setOf(ids[i]))
		want := []posixtrace.EventID{posixtrace.EventStart, posixtrace.EventFilter}
		for k, id := range ids {
			if k != i {
				want = append(want, id)
			}
		}
		if l := idsOf(t, s); fmt.Sprint(l) != fmt.Sprint(want) {
			t.Errorf("stream %d: events %v, want %v", i, l, want)
		}
	}
})

var _ = conform("FIL-15", func(t *testing.T) {
	// All processes of a stream.
	s := running(t, 0, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	id := eventID(t, "fil.fifteen")
	child := tracetest.Start(t, "map")
	if got := openIn(child, "fil.fifteen"); got != id {
		t.Fatalf("id %d, want %d", got, id)
	}
	s.SetFilter(setOf(id), posixtrace.FilterSet)
	child.Ask("event %d x", id)
	posixtrace.Event(id, []byte("y"))
	child.Ask("event %d z", posixtrace.EventUnnamed)
	equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "z", child.PID})
	s.Shutdown()

	// Ids that are in the set before they are registered.
	c := tracetest.Start(t, "map")
	s = running(t, c.PID, posixtrace.Attr{})
	var all posixtrace.EventSet
	all.Fill(posixtrace.FillAll)
	all.Del(posixtrace.EventUnnamed)
	s.SetFilter(all, posixtrace.FilterSet)
	c.Ask("event %d x", openIn(c, "fil.later"))
	c.Ask("event %d y", posixtrace.EventUnnamed)
	equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "y", c.PID})

	// Patterns: the last match decides about a new name; SET drops them, the
	// others keep them.
	n := 0
	passes := func(name string) bool {
		t.Helper()
		n++
		name = fmt.Sprintf("%s.%d", name, n)
		c.Ask("event %d x", openIn(c, name))
		l := drain(t, s)
		if len(l) > 1 || len(l) == 1 && l[0].name != name {
			t.Fatalf("events %v", l)
		}
		return len(l) == 1
	}
	expect := func(what, name string, want bool) {
		t.Helper()
		if passes(name) != want {
			t.Errorf("%s: %s passes: %v", what, name, !want)
		}
	}
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	ops := func(ops ...posixtrace.FilterOp) {
		t.Helper()
		if err := s.FilterOps(ops); err != nil {
			t.Fatal(err)
		}
	}
	ops(posixtrace.FilterOp{How: posixtrace.FilterAdd, Patterns: []string{"p.*"}}, posixtrace.FilterOp{How: posixtrace.FilterSub, Patterns: []string{"p.q.*"}},
		posixtrace.FilterOp{How: posixtrace.FilterAdd, Patterns: []string{"p.q.r.*"}})
	check := func(what string) {
		t.Helper()
		expect(what, "o", true)
		expect(what, "p", false)
		expect(what, "p.q", true)
		expect(what, "p.q.r", false)
	}
	check("patterns")
	s.SetFilter(setOf(3000), posixtrace.FilterAdd)
	check("after ADD")
	s.SetFilter(setOf(3000), posixtrace.FilterSub)
	check("after SUB")
	s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet)
	expect("after SET", "p", true)
	expect("after SET", "p.q.r", true)

	// Up to 64 patterns.
	var many []string
	for i := range 64 {
		many = append(many, fmt.Sprintf("m%d.*", i))
	}
	ops(posixtrace.FilterOp{How: posixtrace.FilterAdd, Patterns: many})
	expect("64 patterns", "m0", false)
	expect("64 patterns", "m63", false)
	expect("64 patterns", "m64", true)
	wantErrno(t, s.FilterOps([]posixtrace.FilterOp{{How: posixtrace.FilterAdd, Patterns: []string{"one.more"}}}), syscall.EINVAL)
	expect("refused", "m63", false)
})

var _ = conform("FIL-16", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s := running(t, 0, posixtrace.Attr{StreamSize: 1, StreamFullPolicy: p})
		recordUnnamed(20000)
		st, _ := s.Status()
		if st.StreamFullStatus != posixtrace.StatusFull {
			t.Fatalf("%v: not full", p)
		}
		set := setOf(40, 41)
		if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
			t.Fatal(err)
		}
		wantFilter(t, s, set)
		after, _ := s.Status()
		n := 0
		for _, id := range idsOf(t, s) {
			if id == posixtrace.EventFilter {
				n++
			}
		}
		switch {
		case p == posixtrace.PolicyLoop && n != 1:
			t.Errorf("%v: %d FILTER events", p, n)
		case p == posixtrace.PolicyUntilFull && (n != 0 || after.Lost != st.Lost+1 || after.StreamOverrunStatus != posixtrace.StatusOverrun):
			t.Errorf("%v: %d FILTER events, %d lost, before %d", p, n, after.Lost, st.Lost)
		}
	}
})

var _ = conform("FIL-17", func(t *testing.T) {
	s, path := newLoggedOf(t, 0, posixtrace.Attr{MaxDataSize: new(0)})
	var system posixtrace.EventSet
	system.Fill(posixtrace.FillSystem)
	system.Del(posixtrace.EventStart)
	system.Del(posixtrace.EventFilter)
	s.SetFilter(setOf(50), posixtrace.FilterSet)
	s.Start()
	s.SetFilter(system, posixtrace.FilterSet)
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	buf := make([]byte, 4096)
	seen := 0
	for {
		ev, n, err := l.Next(buf)
		if err != nil {
			break
		}
		switch ev.ID {
		case posixtrace.EventStart:
			seen++
			set, err := posixtrace.DecodeSet(buf[:n])
			if err != nil || !set.Has(50) || set.Has(51) || set != setOf(50) {
				t.Errorf("START: %v", err)
			}
		case posixtrace.EventFilter:
			seen++
			old, set, err := posixtrace.DecodeFilter(buf[:n])
			if err != nil || !old.Has(50) || old.Has(posixtrace.EventStop) || !set.Has(posixtrace.EventStop) || !set.Has(4000) || set.Has(posixtrace.EventStart) || set != system {
				t.Errorf("FILTER: %v", err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d events with sets", seen)
	}
	// They decode to the original sets, and other data is refused.
	for _, bad := range [][]byte{nil, {1}, make([]byte, 7), append(make([]byte, 8), 1)} {
		_, err := posixtrace.DecodeSet(bad)
		wantErrno(t, err, syscall.EINVAL)
	}
	var wg sync.WaitGroup // reading a set needs no lock
	for range 4 {
		wg.Go(func() { _ = system.Has(3) })
	}
	wg.Wait()
})
