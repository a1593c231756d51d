package conformance

import (
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// invalidIDs are ids that can be no event type.
var invalidIDs = []posixtrace.EventID{0, 4096, 4097, 1 << 16, 1 << 31, ^posixtrace.EventID(0)}

var _ = conform("SET-01/posix_trace_eventset_empty/EINVAL", func(t *testing.T) {
	s := posixtrace.EventSet{}
	for id := range posixtrace.EventID(5000) {
		if s.Has(id) {
			t.Errorf("%d is a member", id)
		}
	}
	if !s.Empty() {
		t.Error("not empty")
	}
	for _, id := range invalidIDs {
		wantErrno(t, s.Add(id), syscall.EINVAL)
		wantErrno(t, s.Del(id), syscall.EINVAL)
		if s.Has(id) {
			t.Errorf("%d is a member", id)
		}
	}
	if !s.Empty() {
		t.Error("not empty after what failed")
	}
})

var _ = conform("SET-02/posix_trace_eventset_fill/EINVAL", func(t *testing.T) {
	for _, what := range []posixtrace.FillWhat{posixtrace.FillWOPID, posixtrace.FillSystem, posixtrace.FillAll} {
		var fresh, used posixtrace.EventSet
		for id := posixtrace.EventID(1); id < 4096; id += 3 {
			used.Add(id)
		}
		if err := fresh.Fill(what); err != nil {
			t.Fatal(err)
		}
		if err := used.Fill(what); err != nil {
			t.Fatal(err)
		}
		if fresh != used || fresh.Empty() {
			t.Errorf("Fill(%d) depends on what was there", what)
		}
	}
	for _, what := range []posixtrace.FillWhat{3, 4, 255} {
		s := setOf(50)
		wantErrno(t, s.Fill(what), syscall.EINVAL)
		if s != setOf(50) {
			t.Error("a call that failed changed the set")
		}
	}
})

var _ = conform("SET-03/posix_trace_eventset_fill", func(t *testing.T) {
	var s posixtrace.EventSet
	s.Fill(posixtrace.FillAll)
	for id := posixtrace.EventID(1); id < 4096; id++ {
		if !s.Has(id) {
			t.Errorf("%d is no member", id)
		}
	}
	st := newStreamOf(t, 0, posixtrace.Attr{})
	for id, name := range eventTypesOf(t, st) {
		if !s.Has(id) {
			t.Errorf("%s is no member", name)
		}
	}
	if !s.Has(eventID(t, "set.three.later")) {
		t.Error("a type registered later is no member")
	}
})

var _ = conform("SET-04/posix_trace_eventset_fill", func(t *testing.T) {
	var s posixtrace.EventSet
	s.Fill(posixtrace.FillSystem)
	for _, id := range []posixtrace.EventID{posixtrace.EventError, posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFlushStart, posixtrace.EventFlushStop,
		posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcSignal, posixtrace.EventOutputStdout, posixtrace.EventOutputStderr} {
		if !s.Has(id) {
			t.Errorf("%d is no member", id)
		}
	}
	eventID(t, "set.four")
	st := newStreamOf(t, 0, posixtrace.Attr{})
	for id, name := range eventTypesOf(t, st) {
		if s.Has(id) != id.System() || s.Has(id) == id.User() {
			t.Errorf("%s, %d: member %v, system %v, user %v", name, id, s.Has(id), id.System(), id.User())
		}
	}
	if s.Has(posixtrace.EventUnnamed) || s.Has(eventID(t, "set.four")) {
		t.Error("a user type is a member")
	}
})

var _ = conform("SET-05/posix_trace_eventset_fill", func(t *testing.T) {
	var s posixtrace.EventSet
	s.Fill(posixtrace.FillWOPID)
	want := setOf(posixtrace.EventError, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventFlushStart, posixtrace.EventFlushStop)
	if s != want {
		for id := range posixtrace.EventID(4096) {
			if s.Has(id) != want.Has(id) {
				t.Errorf("%d: member %v", id, s.Has(id))
			}
		}
	}
})

var _ = conform("SET-06", func(t *testing.T) {
	var wopid, system, all posixtrace.EventSet
	wopid.Fill(posixtrace.FillWOPID)
	system.Fill(posixtrace.FillSystem)
	all.Fill(posixtrace.FillAll)
	for id := range posixtrace.EventID(4096) {
		if wopid.Has(id) && !system.Has(id) || system.Has(id) && !all.Has(id) {
			t.Errorf("%d: members %v, %v, %v", id, wopid.Has(id), system.Has(id), all.Has(id))
		}
	}
	if wopid == system || system == all {
		t.Error("two of the sets are one")
	}
})

var _ = conform("SET-07/posix_trace_eventset_add", func(t *testing.T) {
	for _, id := range []posixtrace.EventID{1, 31, 32, 63, 64, 65, 3583, 3584, 4095} {
		var s posixtrace.EventSet
		for range 2 {
			if err := s.Del(id); err != nil || s.Has(id) {
				t.Errorf("Del(%d) = %v", id, err)
			}
		}
		for range 2 {
			if err := s.Add(id); err != nil || !s.Has(id) {
				t.Errorf("Add(%d) = %v", id, err)
			}
		}
		for other := range posixtrace.EventID(4096) {
			if s.Has(other) != (other == id) {
				t.Errorf("with %d, %d is a member: %v", id, other, s.Has(other))
			}
		}
		s.Del(id)
		if !s.Empty() {
			t.Errorf("%d leaves something", id)
		}
	}
})

var _ = conform("SET-08/posix_trace_eventset_ismember", func(t *testing.T) {
	// The answer is the result, and there is no error beside it.
	s := setOf(40)
	if yes, no := s.Has(40), s.Has(41); !yes || no {
		t.Errorf("Has = %v, %v", yes, no)
	}
	if s != setOf(40) {
		t.Error("asking changed the set")
	}
})

var _ = conform("SET-09", func(t *testing.T) {
	s := running(t, 0, posixtrace.Attr{})
	id := eventID(t, "set.nine")
	set := setOf(id)
	s.SetFilter(set, posixtrace.FilterSet)
	f, _ := s.Filter()
	set.Del(id)
	set.Fill(posixtrace.FillAll)
	f.Fill(posixtrace.FillSystem)
	wantFilter(t, s, setOf(id))
	posixtrace.Event(id, nil)
	posixtrace.Event(posixtrace.EventUnnamed, nil)
	if l := drain(t, s); len(l) != 1 || l[0].name != "posix_trace_unnamed_userevent" {
		t.Errorf("events %v", l)
	}
})

var _ = conform("SET-10", func(t *testing.T) {
	var s posixtrace.EventSet
	if s != (posixtrace.EventSet{}) || !s.Empty() || s.Has(1) {
		t.Error("the zero value is not the empty set")
	}
	if err := s.Add(33); err != nil || !s.Has(33) {
		t.Errorf("Add = %v", err)
	}
	var zero posixtrace.EventSet
	st := newStreamOf(t, 0, posixtrace.Attr{})
	st.SetFilter(s, posixtrace.FilterSet)
	if err := st.SetFilter(zero, posixtrace.FilterSet); err != nil {
		t.Error(err)
	}
	wantFilter(t, st, posixtrace.EventSet{})
})
