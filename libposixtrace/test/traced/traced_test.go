package traced

import (
	"fmt"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A C program is traced from outside: names, data, process, thread and address are right.
func TestProgramIsTraced(t *testing.T) {
	p := startPeer(t)
	before := p.number("fds")
	id := p.number("open first")
	p.done("event %d 3", id) // nothing traces it yet
	s := create(t, p.pid, nil)
	p.done("event %d 1000", id)
	p.done("unnamed hello")
	list := events(t, s)
	if len(list) != 1001 {
		t.Fatalf("%d events", len(list))
	}
	for i, e := range list[:1000] {
		if e.name != "first" || e.number() != i || e.PID != p.pid || e.TID != p.pid || e.Address == 0 || int(e.ID) != id {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if e := list[1000]; e.ID != posixtrace.EventUnnamed || e.data != "hello" || e.Address == list[0].Address {
		t.Errorf("%+v", e)
	}
	none(t, s)
	if n := p.number("fds"); n != before {
		t.Errorf("%d descriptors are open, before it was traced %d", n, before)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	p.done("event %d 3", id)
	p.end()
}

// A stream attached later, or to a program that records already, gets what comes from then on.
func TestStreamsComeAndGo(t *testing.T) {
	p := startPeer(t)
	id := p.number("open x")
	first := create(t, p.pid, nil)
	for i := range 20 {
		s := create(t, p.pid, &posixtrace.Attr{Name: fmt.Sprint(i)})
		p.done("event %d 5", id)
		if n := len(events(t, s)); n != 5 {
			t.Errorf("stream %d: %d events", i, n)
		}
		none(t, s)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		p.done("event %d 1", id)
	}
	if n := len(events(t, first)); n != 120 {
		t.Errorf("%d events", n)
	}
	p.end()
}
