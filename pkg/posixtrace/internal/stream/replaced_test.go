package stream

import (
	"runtime"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestReplacedChunkIsNotOverwrittenFirst steps a writer through the replacement of an open chunk,
// in which another writer is stopped. The chunk is the oldest one by when it was opened, and has the
// newest event. So at no instruction, however long the writer stands there, may it be the one that
// writers overwrite next.
func TestReplacedChunkIsNotOverwrittenFirst(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, v := range stepVariants {
		if v.name == "open" {
			t.Run("go", func(t *testing.T) { testReplaced(t, v) })
		}
	}
}

// TestReplacedChunkIsNotOverwrittenFirstInC is the same for a writer in C.
func TestReplacedChunkIsNotOverwrittenFirstInC(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t)
	for _, v := range cStepVariants(t) {
		if v.name == "open" {
			testReplaced(t, v)
		}
	}
}

func testReplaced(t *testing.T, v stepVariant) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	x := startSteppedAs(t, v, "step "+v.name, 64<<10)
	defer x.end()
	m := x.m
	for i := range m.OpenChunks {
		w := newWriter(t, m, 1)
		w.Short()
		defer stall(t, w, stamp(nil, 1, uint64(i), 16))()
	}
	o := newWriter(t, m, 1)
	for n := uint64(0); m.Lost() == 0; n++ {
		o.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 2, n, 1000))
	}
	replaced := 0
	for x.phase.Load() != stepDone && !t.Failed() {
		x.step()
		i, c := m.closedFirst()
		if i < 0 {
			t.Fatalf("after instruction %d: writers would find no chunk; %s", x.steps, states(m))
		}
		// The writers that are stopped would have left it by the time that others look for a chunk.
		for j := range m.Chunks {
			if m.stuck(j) && !m.registered(j) {
				replaced++
				if m.ages[j].Load() < m.ages[i].Load() {
					t.Errorf("after instruction %d: writers would overwrite chunk %d, which was replaced, before chunk %d in state %d", x.steps, j, i, c.state())
				}
			}
		}
	}
	if replaced == 0 {
		t.Error("the writer has replaced no chunk")
	}
	t.Logf("%d instructions, behind %d of them a chunk was replaced", x.steps, replaced)
}
