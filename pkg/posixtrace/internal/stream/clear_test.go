package stream

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestClearWhileWriterIsStopped clears a stream while a writer is stopped in the middle of an
// event, at each instruction in turn. Events from before the clear, including the unfinished one if
// it was generated before, are not read, not flushed and not counted as lost; later events are.
func TestClearWhileWriterIsStopped(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, v := range stepVariants {
		if v.name != "next" && v.name != "open" && v.name != "largest" && v.name != "overwrite" {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			runtime.LockOSThread() // ptrace(2) is bound to it
			defer runtime.UnlockOSThread()
			x := startStepped(t, v)
			var within []int // the steps in the middle of an event
			for x.phase.Load() != stepDone {
				x.step()
				if midEvent(x.m) {
					within = append(within, x.steps)
				}
			}
			steps := x.steps
			x.end()
			var at []int
			for i := 1; i < steps; i += max(1, steps/tracetest.Scale(24, 400, 400)) {
				at = append(at, i)
			}
			for i := 0; i < len(within); i += max(1, len(within)/8) {
				at = append(at, within[i])
			}
			stops, busy := 0, 0
			for _, i := range at {
				if t.Failed() {
					break
				}
				if clearOnce(t, v, i, stops%3) {
					busy++
				}
				stops++
			}
			t.Logf("%d instructions, stopped at %d of them, in the middle of an event at %d", steps, stops, busy)
			if busy == 0 && v.name != "overwrite" {
				t.Error("the writer never was in the middle of an event")
			}
		})
	}
}

// midEvent reports whether a writer is in the middle of an event.
func midEvent(m *Mem) bool {
	for i := range m.Chunks {
		if word(m, i).busy() {
			return true
		}
	}
	return false
}

func clearOnce(t *testing.T, v stepVariant, at, how int) (busy bool) {
	x := startStepped(t, v)
	defer x.end()
	m := x.m
	for x.steps < at && x.phase.Load() != stepDone {
		x.step()
	}
	busy = midEvent(m)
	if how == 2 {
		m.Snapshot() // changes nothing
	}
	m.Clear()
	tick := m.h.filterChangedAt.Load()
	lost := m.Lost()
	what := fmt.Sprintf("after instruction %d", at)
	check := func(rec *chunk.Record) {
		if rec.Event == event.FirstUser && rec.Tick < tick {
			t.Errorf("%s: an event of %d ticks before the clear is reported", what, tick-rec.Tick)
		}
	}
	y := newTally(t, 3)
	y.order = false
	collect := func() {
		if how == 1 {
			slot, ok := m.TakeSlot(sys.SelfProc(), nil)
			if !ok {
				t.Fatal("no slot")
			}
			defer m.FreeSlot(slot)
			if _, err := flushTo(m, slot, func(b *Block) error {
				if err := eachEvent(b, check); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				return y.block(b)
			}); err != nil {
				t.Error(err)
			}
			return
		}
		for _, rec := range readAll(t, m.NewReader()) {
			check(&rec)
			y.add(&rec)
		}
	}
	collect()
	x.runTo(stepDone)
	collect()
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if v.short {
		w.Short()
	}
	e := Event{ID: event.FirstUser}
	for n := range uint64(20) {
		w.Record(0, &e, stamp(nil, 2, n, 16))
	}
	collect()
	collect()
	if y.got[2] != 20 {
		t.Errorf("%s: %d of 20 events that were recorded after the clear are reported (%d); %s", what, y.got[2], how, states(m))
		for i := range m.Chunks {
			t.Logf("chunk %d: count %d off %d, cleared %x, read %x, clearedAt %d turned %d", i, word(m, i).count(), word(m, i).off(), m.at(i).cleared.Load(), m.at(i).read.Load(), m.at(i).clearedAt.Load(), tick)
		}
	}
	if n := y.got[0] + y.got[2]; n > 21 {
		t.Errorf("%s: %d events are reported", what, n)
	}
	// A writer that has counted the events it overwrites, and not yet added them, adds them later.
	if m.Lost() != lost && v.name != "overwrite" {
		t.Errorf("%s: %d events are lost", what, m.Lost()-lost)
	}
	if m.h.damage.Load() != 0 {
		t.Errorf("%s: damage", what)
	}
	return busy
}
