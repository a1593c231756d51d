package stream

import (
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// cStepVariants are the variants that the C program has.
func cStepVariants(t *testing.T) (vs []stepVariant) {
	prog := cPeer(t)
	goOnly := []string{"own time", "span"}
	for _, v := range stepVariants {
		if !slices.Contains(goOnly, v.name) {
			v.prog = prog
			vs = append(vs, v)
		}
	}
	return vs
}

// TestCWriterKilledAtEachInstruction does what TestWriterKilledAtEachInstruction does, with a writer in C.
func TestCWriterKilledAtEachInstruction(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t)
	for _, v := range cStepVariants(t) {
		t.Run(v.name, func(t *testing.T) { testKillSteps(t, v) })
	}
}

// TestCWriterStoppedAtEachInstruction does what TestWriterStoppedAtEachInstruction does, with a writer in C.
func TestCWriterStoppedAtEachInstruction(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t)
	testStopSteps(t, cStepVariants(t))
}

// TestCStoppedClaimOverwritesTheOldest does what TestStoppedClaimOverwritesTheOldest does, with a writer in C.
func TestCStoppedClaimOverwritesTheOldest(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t)
	testStopClaims(t, cStepVariants(t))
}

// TestCSignalAtEachInstruction interrupts a writer in C, at each instruction of an event, by a handler
// that records, or does not return, or both. The writer soon has a chunk of its own again, and all
// events that were not left are in the stream.
func TestCSignalAtEachInstruction(t *testing.T) {
	setPatience(t, forLongStops)
	tracetest.OnlyWithoutRace(t)
	prog := cPeer(t)
	for _, how := range []string{"record", "jump", "record and jump"} {
		t.Run(how, func(t *testing.T) { testSignalSteps(t, prog, how) })
	}
}

func testSignalSteps(t *testing.T, prog, how string) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	x := startSteppedAs(t, stepVariant{policy: Loop, prog: prog}, "signal "+how, 256<<10)
	defer x.end()
	y := newTally(t, 3)
	y.order = false // the handler's event may be older than the one that it interrupts
	r := x.m.NewReader()
	stops := 0
	const longest = 320
	for at := 1; at < longest; at += tracetest.Scale(7, 1, 1) {
		for x.steps = 0; x.phase.Load() != stepDone && x.steps < at; {
			x.step()
		}
		sig := syscall.SIGUSR1
		if x.phase.Load() == stepDone {
			sig = 0
		} else {
			stops++
		}
		if err := syscall.PtraceCont(x.cmd.Process.Pid, int(sig)); err != nil {
			t.Fatal(err)
		}
		x.wait()
		x.runTo(stepReady)
		readInto(r, y)
	}
	left, generated := x.all[2].before.Load(), x.all[0].before.Load()
	got := y.got[0] + x.m.Lost()
	if how == "record" && left != 0 || how != "record" && left < uint64(stops/2) {
		t.Errorf("%d of %d handlers did not return", left, stops)
	}
	if got > generated || got < generated-left {
		t.Errorf("%d read and lost, of %d generated, %d of which were left", got, generated, left)
	}
	if n := x.m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
	busy := 0
	for i := range x.m.Chunks {
		if word(x.m, i).busy() {
			busy++
		}
	}
	if stuck := int(x.all[3].before.Load()); busy > 1+stuck || stuck > 1+stops/20 {
		t.Errorf("%d chunks are busy; %s", busy, states(x.m))
	}
	t.Logf("%d instructions, %d handlers did not return; %d events; %s", stops, left, generated, states(x.m))
}
