package stream

import (
	"runtime"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestWriterStoppedAtEachInstruction stops a writer after each instruction of one call of Record, as
// SIGSTOP may. Meanwhile other writers fill the stream again and again, and a reader reads it, without
// waiting. Then the writer goes on, and its unfinished event does not damage the events that are by
// then in the same place.
func TestWriterStoppedAtEachInstruction(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t) // which adds instructions
	testStopSteps(t, stepVariants)
}

func testStopSteps(t *testing.T, variants []stepVariant) {
	for _, v := range variants {
		if v.policy != Loop || v.name == "rejected" { // the others record nothing while the stream is full
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			runtime.LockOSThread() // ptrace(2) is bound to it
			defer runtime.UnlockOSThread()
			x := startStepped(t, v)
			for x.phase.Load() != stepDone {
				x.step()
			}
			steps := x.steps
			x.end()
			stops := 0
			for at := 1; at < steps && !t.Failed(); at += max(1, steps/tracetest.Scale(15, 400, 400)) {
				stopOnce(t, v, at)
				stops++
			}
			t.Logf("%d instructions, stopped at %d of them", steps, stops)
		})
	}
}

func stopOnce(t *testing.T, v stepVariant, at int) {
	x := startStepped(t, v)
	defer x.end()
	m := x.m
	for x.steps < at && x.phase.Load() != stepDone {
		x.step()
	}
	began := time.Now()
	none := func(sys.Proc) bool { return false } // the stopped writer lives
	slot, ok := m.TakeSlot(sys.SelfProc(), none)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if v.short { // in the open chunks, as the stopped writer
		w.Short()
	}
	e := Event{ID: event.FirstUser}
	y := newTally(t, 3)
	y.order = false // the event of the stopped writer is late
	r := m.NewReader()
	n := uint64(0)
	record := func(size int) {
		for end := n + 6*uint64(m.Chunks); n < end; n++ {
			if !w.Record(0, &e, stamp(nil, 2, n, size)) {
				t.Fatalf("after instruction %d: event %d finds no room", at, n)
			}
		}
	}
	for round := range 4 {
		m.Recover(none)
		record([]int{1000, 16}[round%2])
		if round%2 == 1 {
			readInto(r, y)
		}
	}
	if y.got[2] == 0 || m.Lost() == 0 {
		t.Errorf("after instruction %d: %d events can be read, %d were overwritten", at, y.got[2], m.Lost())
	}
	// A reader waits some milliseconds for the stopped writer, not until it goes on.
	if d := time.Since(began); d > time.Minute {
		t.Errorf("after instruction %d: the other writers took %v", at, d)
	}
	x.runTo(stepDone)
	record(1000)
	readInto(r, y)
	readInto(r, y)
	// The START, the events before, the unfinished one, and those of this test.
	generated := 1 + x.all[0].before.Load() + 1 + n
	if got := y.total() + y.starts + m.Lost(); got != generated {
		t.Errorf("after instruction %d: %d read + %d lost, of %d", at, y.total()+y.starts, m.Lost(), generated)
	}
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("after instruction %d: %d damaged", at, n)
	}
}
