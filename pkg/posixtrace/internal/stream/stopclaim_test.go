package stream

import (
	"runtime"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestStoppedClaimOverwritesTheOldest stops a writer after an instruction of a call of Record that
// overwrites a chunk under LOOP. Meanwhile other writers fill the chunks that they own and close them.
// Then the writer goes on. It overwrites what was old before, not the chunks that have just been closed.
func TestStoppedClaimOverwritesTheOldest(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t) // which adds instructions
	testStopClaims(t, stepVariants)
}

func testStopClaims(t *testing.T, variants []stepVariant) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	for _, v := range variants {
		if v.name != "overwrite" {
			continue
		}
		x := startStopClaim(t, v)
		var search []int // the instructions that search for the chunk to overwrite, as far as that is known
		for x.phase.Load() != stepDone {
			if x.step(); x.c || strings.HasSuffix(runtime.FuncForPC(x.pc()).Name(), ".closedFirst") {
				search = append(search, x.steps)
			}
		}
		x.end()
		stride := max(1, len(search)/tracetest.Scale(10, 30, len(search)))
		for n := int(x.proc.PID) % stride; n < len(search) && !t.Failed(); n += stride { // others in each run
			stopClaim(t, v, search[n])
		}
		t.Logf("stopped at each %d of %d instructions", stride, len(search))
	}
}

func startStopClaim(t *testing.T, v stepVariant) *stepped {
	return startSteppedAs(t, v, "step "+v.name, 64<<10)
}

func stopClaim(t *testing.T, v stepVariant, at int) {
	x := startStopClaim(t, v)
	defer x.end()
	m := x.m
	const owners, after = 12, 5 // events in the chunk that follows the one filled
	e := Event{ID: event.FirstUser}
	var ws [owners]*Writer
	var sent [owners]uint64
	record := func(i int) {
		sent[i]++
		if !ws[i].Record(0, &e, stamp(nil, uint32(100+i), sent[i], 60)) {
			t.Fatalf("after instruction %d: an event finds no room; %s", at, states(m))
		}
	}
	for i := range ws {
		slot, ok := m.TakeSlot(sys.SelfProc(), func(sys.Proc) bool { return false })
		if !ok {
			t.Fatal("no slot")
		}
		w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
		tracetest.OK(t, "writer", err)
		defer w.Close()
		ws[i] = w
		record(i)
	}
	for x.steps < at && x.phase.Load() != stepDone {
		x.step()
	}
	var first [owners]uint64
	for i, w := range ws {
		first[i] = sent[i]
		for chunk := w.shard(0).tag.Load(); w.shard(0).tag.Load() == chunk; {
			record(i)
		}
		for range after {
			record(i)
		}
	}
	x.runTo(stepDone)
	got := newest(t, m)
	for i := range ws {
		for n := first[i]; n <= sent[i]; n++ {
			if !got[uint32(100+i)][n] {
				t.Errorf("after instruction %d: of the newest events %d to %d of writer %d, %d is overwritten; %s", at, first[i], sent[i], i, n, states(m))
				break
			}
		}
	}
}
