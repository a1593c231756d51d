package posixtrace

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A traced process that finds no free writer slot in a stream keeps no descriptor and no mapping
// of it, however often it tries.
func TestRefusedWriterKeepsNoMapping(t *testing.T) {
	id, err := OpenEventID("crowded")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	m := s.c.mem
	other, err := sys.Lookup(1) // a live process
	if err != nil {
		t.Fatal(err)
	}
	var slots []uint64
	for {
		slot, ok := m.TakeSlot(other, nil)
		if !ok {
			break
		}
		slots = append(slots, slot)
	}
	defer func() {
		for _, slot := range slots {
			m.FreeSlot(slot)
		}
	}()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	count := func() (open, mapped int) {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); to == s.c.path {
				open++
			}
		}
		for _, l := range tracetest.Mappings() {
			if l == "mapping of "+s.c.path {
				mapped++
			}
		}
		return
	}
	open, mapped := count()
	for range 20 {
		traced.table.Store(nil) // as after a change of its streams
		Event(id, nil)
	}
	if o, m := count(); o != open || m != mapped {
		t.Errorf("%d descriptors and %d mappings more", o-open, m-mapped)
	}
}

// Dead writers give up their slots to later ones.
func TestDeadWritersFreeTheirSlots(t *testing.T) {
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	for range s.c.mem.Places + 2 {
		c := tracetest.Start(t, "target")
		c.Line()
		c.Say("here today")
		c.Cmd.Process.Kill()
		c.Cmd.Wait()
	}
	c := tracetest.Start(t, "target")
	c.Line()
	c.Say("gone tomorrow")
	if s.c.mem.Crowded() {
		t.Error("the slots of dead writers are not free")
	}
	if n := len(drain(t, s)); n != s.c.mem.Places+3 {
		t.Errorf("%d events, want %d", n, s.c.mem.Places+3)
	}
}

// writersOf returns the processes that have a slot among the writers of a stream.
func writersOf(m *stream.Mem) (ps []sys.Proc) {
	m.RecoverSlots(func(_ uint64, p sys.Proc) (dead bool) {
		ps = append(ps, p)
		return false
	})
	return ps
}
