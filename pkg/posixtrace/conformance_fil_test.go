package posixtrace

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracetest"
)

func init() {
	// pair: passes two trace points by turns until it is killed.
	tracetest.Helpers["pair"] = func(args []string) {
		a, _ := OpenEventID("fil.a")
		b, _ := OpenEventID("fil.b")
		fmt.Println(a, b)
		bufio.NewReader(os.Stdin).ReadString('\n')
		for {
			Event(a, nil)
			Event(b, nil)
			time.Sleep(time.Microsecond) // so that who reads keeps up
		}
	}
}

func filSet(ids ...EventID) (s EventSet) {
	for _, id := range ids {
		s.Add(id)
	}
	return s
}

// filGets fails the test unless the stream's filter is the set.
func filGets(t *testing.T, s *Stream, want EventSet) {
	t.Helper()
	if f, err := s.Filter(); f != want || err != nil {
		t.Errorf("the filter is another one, %v", err)
	}
}

func filIDs(t *testing.T, s *Stream) (list []EventID) {
	t.Helper()
	for _, ev := range evtAll(t, s) {
		list = append(list, ev.ID)
	}
	return list
}

var _ = conform("FIL-01", func(t *testing.T) {
	s := limStream(t, 0, Attr{})
	a, b := limID(t, "fil.one.a"), limID(t, "fil.one.b")
	s.SetFilter(filSet(a), FilterSet)
	s.Start()
	Event(a, nil)
	Event(b, nil)
	Event(EventUnnamed, nil)
	if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint([]EventID{EventStart, b, EventUnnamed}) {
		t.Errorf("events %v", l)
	}
	s.SetFilter(EventSet{}, FilterSet)
	Event(a, nil)
	if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint([]EventID{EventFilter, a}) {
		t.Errorf("events %v", l)
	}
})

// filSteps applies sets one after the other, not running and running, and
// checks the filter after each.
func filSteps(t *testing.T, how FilterHow, f func(old, set EventSet) EventSet) {
	t.Helper()
	s := limStream(t, 0, Attr{})
	var all, system EventSet
	all.Fill(FillAll)
	system.Fill(FillSystem)
	for _, begin := range []EventSet{{}, filSet(1, 40, 4095), system, all} {
		for _, set := range []EventSet{{}, filSet(40), filSet(63, 64, 65, 4095), system, all} {
			for range 2 {
				if err := s.SetFilter(begin, FilterSet); err != nil {
					t.Fatal(err)
				}
				before := set
				if err := s.SetFilter(set, how); err != nil {
					t.Fatal(err)
				}
				if set != before {
					t.Error("the caller's set has changed")
				}
				filGets(t, s, f(begin, set))
				s.Start()
			}
			s.Stop()
		}
	}
}

var _ = conform("FIL-02/posix_trace_set_filter", func(t *testing.T) {
	filSteps(t, FilterSet, func(old, set EventSet) EventSet { return set })
})

var _ = conform("FIL-03/posix_trace_set_filter", func(t *testing.T) {
	filSteps(t, FilterAdd, func(old, set EventSet) EventSet {
		for id := EventID(1); id < 4096; id++ {
			if set.Has(id) {
				old.Add(id)
			}
		}
		return old
	})
})

var _ = conform("FIL-04/posix_trace_set_filter", func(t *testing.T) {
	filSteps(t, FilterSub, func(old, set EventSet) EventSet {
		for id := EventID(1); id < 4096; id++ {
			if set.Has(id) {
				old.Del(id)
			}
		}
		return old
	})
})

var _ = conform("FIL-05/posix_trace_set_filter/EINVAL", func(t *testing.T) {
	s := running(t, 0, Attr{})
	old := filSet(40, 50)
	s.SetFilter(old, FilterSet)
	evtAll(t, s)
	for _, how := range []FilterHow{3, 4, 100, 255} {
		wantErrno(t, s.SetFilter(filSet(60), how), syscall.EINVAL)
		wantErrno(t, s.FilterOps([]FilterOp{{How: FilterSet}, {How: how, Set: filSet(60)}}), syscall.EINVAL)
		filGets(t, s, old)
	}
	if l := filIDs(t, s); len(l) != 0 {
		t.Errorf("events %v", l)
	}
})

var _ = conform("FIL-06/posix_trace_set_filter", func(t *testing.T) {
	s := limStream(t, 0, Attr{})
	change := func(id EventID) {
		t.Helper()
		if err := s.SetFilter(filSet(id), FilterSet); err != nil {
			t.Error(err)
		}
		filGets(t, s, filSet(id))
	}
	change(41)
	s.Start()
	change(42)
	s.Stop()
	change(43)
	s.Start()
	filGets(t, s, filSet(43))
	creEvents(1)
	s.Clear()
	change(44)
	s.Shutdown()
	logged, _ := limLogged(t, 0, Attr{})
	s = logged
	change(45)
	s.Start()
	change(46)
	s.Flush()
	change(47)
})

var _ = conform("FIL-07/posix_trace_set_filter", func(t *testing.T) {
	s := limStream(t, 0, Attr{})
	a, b, c := filSet(41), filSet(42, 4095), filSet(41, 42, 43, 4095)
	s.SetFilter(a, FilterSet) // no event
	s.Start()
	s.SetFilter(b, FilterSet)
	s.SetFilter(filSet(41, 43), FilterAdd)
	s.Stop()
	s.SetFilter(a, FilterSet) // no event
	s.SetFilter(b, FilterSet) // no event
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
		case ev.ID == EventFilter:
			old, set, err := DecodeFilter(buf[:n])
			first := len(seen) == 2
			if err != nil || first && (old != a || set != b) || !first && (old != b || set != c) {
				t.Errorf("event %d has other sets, %v", len(seen), err)
			}
		case ev.ID == EventStart:
			want := a
			if len(seen) > 1 {
				want = b
			}
			if set, err := DecodeSet(buf[:n]); set != want || err != nil {
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
	s := running(t, 0, Attr{})
	s.SetFilter(EventSet{}, FilterSet)
	s.SetFilter(EventSet{}, FilterAdd)
	s.SetFilter(filSet(40), FilterSub)
	if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint([]EventID{EventStart, EventFilter, EventFilter, EventFilter}) {
		t.Errorf("events %v", l)
	}
	s.Shutdown()

	c := tracetest.Start(t, "pair")
	s = limStream(t, c.PID, Attr{StreamSize: 1 << 20})
	var a, b EventID
	fmt.Sscan(c.Line(), &a, &b)
	s.Start()
	fmt.Fprintln(c.In, "go")
	buf := make([]byte, 4096)
	var filter EventSet
	events, filters, changes := 0, 0, 0
	read := func(stop func() bool) {
		for end := time.Now().Add(10 * time.Second); !stop() && time.Now().Before(end); {
			ev, n, err := s.TryNext(buf)
			switch {
			case err == ErrUnavailable:
				continue
			case err != nil:
				t.Fatal(err)
			case ev.ID == EventFilter:
				old, set, err := DecodeFilter(buf[:n])
				if old != filter || err != nil {
					t.Fatalf("FILTER %d: not the old set, %v", filters, err)
				}
				filter = set
				filters++
			case ev.ID == EventOverflow:
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
		set := filSet([]EventID{a, b}[i%2])
		if i%3 == 2 {
			set = EventSet{}
		}
		if i%10 == 9 {
			set = filSet(a, b)
		}
		if err := s.SetFilter(set, FilterSet); err != nil {
			t.Fatal(err)
		}
		changes++
		n := events
		read(func() bool { return filters == changes && (events > n+2 || set == filSet(a, b)) })
	}
	if filters != changes {
		t.Errorf("%d FILTER events of %d", filters, changes)
	}
})

// There is no context to cancel, and signals never interrupt it half-way.
var _ = conform("FIL-09/posix_trace_set_filter", func(t *testing.T) {
	s := running(t, 0, Attr{StreamSize: 1 << 20})
	limStorm(t, func() {
		for i := range EventID(200) {
			if err := s.SetFilter(filSet(100+i), FilterSet); err != nil {
				t.Fatal(err)
			}
			filGets(t, s, filSet(100+i))
		}
	})
	if n := len(filIDs(t, s)); n != 201 {
		t.Errorf("%d events, want 201", n)
	}
})

var _ = conform("FIL-10", func(t *testing.T) {
	s := limStream(t, 0, Attr{})
	user := limID(t, "fil.ten")
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	all := func(filter EventSet, want ...EventID) {
		t.Helper()
		s.SetFilter(filter, FilterSet)
		s.Start()
		Event(user, nil)
		Event(EventUnnamed, nil)
		rec.Record(EventInfo{ID: EventProcExit}, nil)
		s.SetFilter(filter, FilterAdd)
		s.Stop()
		if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint(want) {
			t.Errorf("events %v, want %v", l, want)
		}
	}
	all(EventSet{}, EventStart, user, EventUnnamed, EventProcExit, EventFilter, EventStop)
	all(filSet(user), EventStart, EventUnnamed, EventProcExit, EventFilter, EventStop)
	all(filSet(EventUnnamed), EventStart, user, EventProcExit, EventFilter, EventStop)
	all(filSet(EventProcExit), EventStart, user, EventUnnamed, EventFilter, EventStop)
	all(filSet(EventStart, EventStop), user, EventUnnamed, EventProcExit, EventFilter)
	all(filSet(EventFilter), EventStart, user, EventUnnamed, EventProcExit, EventStop)
	var every EventSet
	every.Fill(FillAll)
	all(every)
	// FILTER is dropped only when it is in both.
	s.SetFilter(EventSet{}, FilterSet)
	s.Start()
	s.SetFilter(filSet(EventFilter), FilterSet)
	s.SetFilter(filSet(EventFilter, user), FilterSet) // in both
	s.SetFilter(filSet(user), FilterSet)
	if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint([]EventID{EventStart, EventFilter, EventFilter}) {
		t.Errorf("events %v", l)
	}
})

var _ = conform("FIL-11", func(t *testing.T) {
	hidden := filSet(EventStart, EventStop, EventOverflow, EventResume, EventFilter)
	for _, p := range []FullPolicy{PolicyLoop, PolicyUntilFull} {
		s := limStream(t, 0, Attr{StreamSize: 1, StreamFullPolicy: p})
		s.SetFilter(hidden, FilterSet)
		state := func(what string, want RunStatus) {
			t.Helper()
			if st, err := s.PeekStatus(); st.StreamStatus != want || err != nil {
				t.Errorf("%v, %s: %v, %v", p, what, st.StreamStatus, err)
			}
		}
		s.Start()
		state("started", StatusRunning)
		s.Stop()
		state("stopped", StatusSuspended)
		s.Start()
		creEvents(20000)
		if p == PolicyUntilFull {
			state("full", StatusSuspended)
		}
		if st, _ := s.Status(); st.StreamFullStatus != StatusFull || st.StreamOverrunStatus != StatusOverrun || st.Lost == 0 {
			t.Errorf("%v: %+v", p, st)
		}
		n := 0
		for _, id := range filIDs(t, s) {
			if id != EventUnnamed {
				t.Errorf("%v: event %d", p, id)
			}
			n++
		}
		if n == 0 {
			t.Errorf("%v: nothing was recorded", p)
		}
		state("read empty", StatusRunning)
		creEvents(1)
		if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint([]EventID{EventUnnamed}) {
			t.Errorf("%v: after it %v", p, l)
		}
	}
})

var _ = conform("FIL-12/posix_trace_get_filter/EINVAL", func(t *testing.T) {
	s := limStream(t, 0, Attr{Name: "fil.twelve"})
	filGets(t, s, EventSet{})
	set := filSet(1, 32, 33, 4095)
	s.SetFilter(set, FilterSet)
	filGets(t, s, set)
	f, _ := s.Filter()
	f.Add(50) // a copy
	filGets(t, s, set)
	// Another connection sees it, too.
	a, err := Attach("fil.twelve")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	filGets(t, a, set)
	s.Shutdown()
	_, err = s.Filter()
	wantErrno(t, err, syscall.EINVAL)
	_, err = a.Filter()
	wantErrno(t, err, syscall.EINVAL)
})

var _ = conform("FIL-13/posix_trace_set_filter/EINVAL", func(t *testing.T) {
	s, path := limLogged(t, 0, Attr{})
	s.Shutdown()
	wantErrno(t, s.SetFilter(EventSet{}, FilterSet), syscall.EINVAL)
	wantErrno(t, s.FilterOps(nil), syscall.EINVAL)
	_, err := s.Filter()
	wantErrno(t, err, syscall.EINVAL)
	// A log has no such methods.
	l := any(limOpen(t, path))
	if _, ok := l.(interface {
		SetFilter(EventSet, FilterHow) error
	}); ok {
		t.Error("a log has SetFilter")
	}
	if _, ok := l.(interface{ Filter() (EventSet, error) }); ok {
		t.Error("a log has Filter")
	}
})

var _ = conform("FIL-14", func(t *testing.T) {
	var streams []*Stream
	for range 5 {
		streams = append(streams, running(t, 0, Attr{}))
	}
	ids := make([]EventID, 5)
	for i := range ids {
		ids[i] = limID(t, "fil.fourteen."+strconv.Itoa(i))
	}
	for i, s := range streams {
		s.SetFilter(filSet(ids[i]), FilterSet)
	}
	for _, id := range ids {
		Event(id, nil)
	}
	for i, s := range streams {
		filGets(t, s, filSet(ids[i]))
		want := []EventID{EventStart, EventFilter}
		for k, id := range ids {
			if k != i {
				want = append(want, id)
			}
		}
		if l := filIDs(t, s); fmt.Sprint(l) != fmt.Sprint(want) {
			t.Errorf("stream %d: events %v, want %v", i, l, want)
		}
	}
})

var _ = conform("FIL-15", func(t *testing.T) {
	// All processes of a stream.
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	id := limID(t, "fil.fifteen")
	child := tracetest.Start(t, "map")
	if got := mapOpen(child, "fil.fifteen"); got != id {
		t.Fatalf("id %d, want %d", got, id)
	}
	s.SetFilter(filSet(id), FilterSet)
	child.Ask("event %d x", id)
	Event(id, []byte("y"))
	child.Ask("event %d z", EventUnnamed)
	equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "z", child.PID})
	s.Shutdown()

	// Ids that are in the set before they are registered.
	c := tracetest.Start(t, "map")
	s = running(t, c.PID, Attr{})
	var all EventSet
	all.Fill(FillAll)
	all.Del(EventUnnamed)
	s.SetFilter(all, FilterSet)
	c.Ask("event %d x", mapOpen(c, "fil.later"))
	c.Ask("event %d y", EventUnnamed)
	equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "y", c.PID})

	// Patterns: the last match decides about a new name; SET drops them, the
	// others keep them.
	n := 0
	passes := func(name string) bool {
		t.Helper()
		n++
		name = fmt.Sprintf("%s.%d", name, n)
		c.Ask("event %d x", mapOpen(c, name))
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
	s.SetFilter(EventSet{}, FilterSet)
	ops := func(ops ...FilterOp) {
		t.Helper()
		if err := s.FilterOps(ops); err != nil {
			t.Fatal(err)
		}
	}
	ops(FilterOp{How: FilterAdd, Patterns: []string{"p.*"}}, FilterOp{How: FilterSub, Patterns: []string{"p.q.*"}},
		FilterOp{How: FilterAdd, Patterns: []string{"p.q.r.*"}})
	check := func(what string) {
		t.Helper()
		expect(what, "o", true)
		expect(what, "p", false)
		expect(what, "p.q", true)
		expect(what, "p.q.r", false)
	}
	check("patterns")
	s.SetFilter(filSet(3000), FilterAdd)
	check("after ADD")
	s.SetFilter(filSet(3000), FilterSub)
	check("after SUB")
	s.SetFilter(EventSet{}, FilterSet)
	expect("after SET", "p", true)
	expect("after SET", "p.q.r", true)

	// Up to 64 of them.
	var many []string
	for i := range 64 {
		many = append(many, fmt.Sprintf("m%d.*", i))
	}
	ops(FilterOp{How: FilterAdd, Patterns: many})
	expect("64 patterns", "m0", false)
	expect("64 patterns", "m63", false)
	expect("64 patterns", "m64", true)
	wantErrno(t, s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"one.more"}}}), syscall.EINVAL)
	expect("refused", "m63", false)
})

var _ = conform("FIL-16", func(t *testing.T) {
	for _, p := range []FullPolicy{PolicyLoop, PolicyUntilFull} {
		s := running(t, 0, Attr{StreamSize: 1, StreamFullPolicy: p})
		creEvents(20000)
		st, _ := s.Status()
		if st.StreamFullStatus != StatusFull {
			t.Fatalf("%v: not full", p)
		}
		set := filSet(40, 41)
		if err := s.SetFilter(set, FilterSet); err != nil {
			t.Fatal(err)
		}
		filGets(t, s, set)
		after, _ := s.Status()
		n := 0
		for _, id := range filIDs(t, s) {
			if id == EventFilter {
				n++
			}
		}
		switch {
		case p == PolicyLoop && n != 1:
			t.Errorf("%v: %d FILTER events", p, n)
		case p == PolicyUntilFull && (n != 0 || after.Lost != st.Lost+1 || after.StreamOverrunStatus != StatusOverrun):
			t.Errorf("%v: %d FILTER events, %d lost, before %d", p, n, after.Lost, st.Lost)
		}
	}
})

var _ = conform("FIL-17", func(t *testing.T) {
	s, path := limLogged(t, 0, Attr{MaxDataSize: new(0)})
	var system EventSet
	system.Fill(FillSystem)
	system.Del(EventStart)
	system.Del(EventFilter)
	s.SetFilter(filSet(50), FilterSet)
	s.Start()
	s.SetFilter(system, FilterSet)
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := limOpen(t, path)
	buf := make([]byte, 4096)
	seen := 0
	for {
		ev, n, err := l.Next(buf)
		if err != nil {
			break
		}
		switch ev.ID {
		case EventStart:
			seen++
			set, err := DecodeSet(buf[:n])
			if err != nil || !set.Has(50) || set.Has(51) || set != filSet(50) {
				t.Errorf("START: %v", err)
			}
		case EventFilter:
			seen++
			old, set, err := DecodeFilter(buf[:n])
			if err != nil || !old.Has(50) || old.Has(EventStop) || !set.Has(EventStop) || !set.Has(4000) || set.Has(EventStart) || set != system {
				t.Errorf("FILTER: %v", err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d events with sets", seen)
	}
	// They are read as they were, and nothing else is taken for one.
	for _, bad := range [][]byte{nil, {1}, make([]byte, 7), append(make([]byte, 8), 1)} {
		_, err := DecodeSet(bad)
		wantErrno(t, err, syscall.EINVAL)
	}
	var wg sync.WaitGroup // reading a set needs no lock
	for range 4 {
		wg.Go(func() { _ = system.Has(3) })
	}
	wg.Wait()
})
