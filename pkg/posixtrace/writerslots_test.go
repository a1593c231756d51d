package posixtrace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
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
	m := s.c.Mem
	other, err := sys.Lookup(1) // a live process
	if err != nil {
		t.Fatal(err)
	}
	// Its program holds the slots.
	held, err := os.OpenFile(s.c.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var slots []uint64
	for {
		slot, ok := m.TakeSlotHeld(other, nil, func(slot uint64) func() {
			conn.HoldSlot(held, slot)
			return func() {}
		})
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
			if to, _ := os.Readlink(fd); to == s.c.Path {
				open++
			}
		}
		for _, l := range tracetest.Mappings() {
			if l == "mapping of "+s.c.Path {
				mapped++
			}
		}
		return
	}
	open, mapped := count()
	for range 20 {
		tracee.Self.Table.Store(nil) // as after a change of its streams
		Event(id, nil)
	}
	if o, m := count(); o != open || m != mapped {
		t.Errorf("%d descriptors and %d mappings more", o-open, m-mapped)
	}
}

// Dead writers give up their slots to later ones.
func TestDeadWritersFreeTheirSlots(t *testing.T) {
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	for range s.c.Mem.Permits + 2 {
		c := tracetest.Start(t, "target")
		c.Line()
		c.Say("here today")
		c.Cmd.Process.Kill()
		c.Cmd.Wait()
	}
	c := tracetest.Start(t, "target")
	c.Line()
	c.Say("gone tomorrow")
	if s.c.Mem.Crowded() {
		t.Error("the slots of dead writers are not free")
	}
	if n := len(drain(t, s)); n != s.c.Mem.Permits+3 {
		t.Errorf("%d events, want %d", n, s.c.Mem.Permits+3)
	}
}

// A traced process that finds the stream crowded, which has closed its descriptor, recovers what the dead
// hold.
func TestCrowdedWriterRecoversTheDead(t *testing.T) {
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	c := tracetest.Start(t, "midway")
	if err := c.Cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	id, err := OpenEventID("crowded")
	tracetest.OK(t, "OpenEventID", err)
	Event(id, nil)
	i := slices.IndexFunc(tracee.Self.Table.Load().Streams, func(a *conn.Attachment) bool { return a.Conn.ID == s.c.ID })
	if i < 0 || s.c.Mem.Busy() != 1 {
		t.Fatalf("attachment %d, %d chunks are busy", i, s.c.Mem.Busy())
	}
	tracee.Self.Table.Load().Streams[i].Writer.OnCrowded()
	if n := s.c.Mem.Busy(); n != 0 {
		t.Errorf("%d chunks stay busy", n)
	}
}

// A process that executes another program in the middle of an event leaves no busy chunk and no slot: the next
// flush that finds the chunk recovers it.
func TestExecInTheMiddleOfAnEvent(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, inC := range []bool{false, true} {
		t.Run(fmt.Sprintf("C=%v", inC), func(t *testing.T) {
			runtime.LockOSThread() // ptrace(2) is bound to it
			defer runtime.UnlockOSThread()
			w := startMidway(t, inC)
			s := logOf(t, w.c.PID, midwayAttr(PolicyUntilFull), filepath.Join(t.TempDir(), "log.trace"))
			w.record(10)
			w.hold(s.c.Mem, 0)
			w.exec()
			if s.c.Mem.Busy() == 0 {
				t.Fatal("no chunk is busy")
			}
			tracetest.OK(t, "Flush", s.Flush())
			if n := s.c.Mem.Busy(); n != 0 {
				t.Errorf("%d chunks stay busy", n)
			}
			if slices.ContainsFunc(writersOf(s.c.Mem), func(p sys.Proc) bool { return p.PID == uint32(w.c.PID) }) {
				t.Error("the new program has the slot of the old one")
			}
		})
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
