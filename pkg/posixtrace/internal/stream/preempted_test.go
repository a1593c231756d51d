package stream

import (
	"runtime"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestPreemptedWriterHasSameSteps waits between instructions of a writer until the Go runtime preempts
// it. It has as many instructions as another one, so tests can stop writers at the same
// instruction again and again.
func TestPreemptedWriterHasSameSteps(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	for _, v := range stepVariants {
		t.Run(v.name, func(t *testing.T) {
			runtime.LockOSThread() // ptrace(2) is bound to it
			defer runtime.UnlockOSThread()
			want, _ := countSteps(t, v, 0)
			end := time.Now().Add(time.Minute)
			for most := 0; most == 0; {
				steps, preempted := countSteps(t, v, 30*time.Millisecond)
				if steps != want {
					t.Fatalf("%d instructions, and %d of another writer", steps, want)
				}
				if most = preempted; most == 0 && time.Now().After(end) {
					t.Fatal("the runtime does not preempt the writer")
				}
			}
		})
	}
}

// countSteps returns how many instructions a writer executes and how often it was preempted. Between
// some of them it pauses.
func countSteps(t *testing.T, v stepVariant, pause time.Duration) (steps, preempted int) {
	x := startStepped(t, v)
	defer x.end()
	for paused := 0; x.phase.Load() != stepDone; {
		// Once at each instruction: a writer that is preempted comes to some of them again.
		if x.step(); x.steps%100 == 50 && x.steps > paused {
			paused = x.steps
			time.Sleep(pause)
		}
	}
	return x.steps, x.preempted
}
