package stream

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestLastFlushBesideStoppedWriter stops a writer after each instruction of one call of Record, as SIGSTOP
// may, stops the stream and flushes it for the last time. The log has every event that was recorded, or the
// stream counts it as lost, once. The flush changes no word that the writer stores without a look at it, and
// the writer goes on without harm.
func TestLastFlushBesideStoppedWriter(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	testLastFlushSteps(t, stepVariants)
}

// TestLastFlushBesideStoppedCWriter does what TestLastFlushBesideStoppedWriter does, with a writer in C.
func TestLastFlushBesideStoppedCWriter(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	testLastFlushSteps(t, cStepVariants(t))
}

func testLastFlushSteps(t *testing.T, variants []stepVariant) {
	setPatience(t, time.Millisecond)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			runtime.LockOSThread() // ptrace(2) is bound to it
			defer runtime.UnlockOSThread()
			x := startStepped(t, v)
			var events, claims []int // the steps in the middle of one
			for x.phase.Load() != stepDone {
				if x.step(); midEvent(x.m) {
					events = append(events, x.steps)
				} else if midClaim(x.m) {
					claims = append(claims, x.steps)
				}
			}
			steps := x.steps
			x.end()
			var at []int
			few := tracetest.Scale(2, 100, 400)
			for i := 1; i < steps; i += max(1, steps/few) {
				at = append(at, i)
			}
			for _, within := range [][]int{events, claims} {
				for i := 0; i < len(within); i += max(1, len(within)/few) {
					at = append(at, within[i])
				}
			}
			held := 0
			for _, i := range at {
				if t.Failed() {
					break
				}
				if lastFlushOnce(t, v, i) {
					held++
				}
			}
			t.Logf("%d instructions, stopped at %d of them, in the middle of an event or a claim at %d", steps, len(at), held)
		})
	}
}

func midClaim(m *Mem) bool {
	for i := range m.Chunks {
		if word(m, i).state() == claiming {
			return true
		}
	}
	return false
}

func lastFlushOnce(t *testing.T, v stepVariant, at int) (held bool) {
	x := startStepped(t, v)
	defer x.end()
	m := x.m
	for x.steps < at && x.phase.Load() != stepDone {
		x.step()
	}
	prepared := x.all[0].before.Load()
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	words := make([]ctl, m.Chunks)
	for i := range words {
		words[i] = word(m, i)
	}
	m.Stop(w, Event{})
	y := newTally(t, 3)
	y.order = false
	to := &Sink{
		Room: math.MaxInt64, Last: true, Lost: func(int) {},
		Put:     func(b *Block) (bool, error) { return false, y.block(b) },
		Recover: func() { m.Recover(func(sys.Proc) bool { return false }) },
	}
	if _, err := m.Flush(slot, to); err != nil {
		t.Fatal(err)
	}
	for i, c := range words {
		if now := word(m, i); (c.busy() || c.state() == claiming) && now != c {
			t.Errorf("after instruction %d: the word of a chunk in use changes from %x to %x", at, c, now)
		}
	}
	held = midEvent(m) || midClaim(m)
	lost := m.Lost() + m.LostInClaims() + uint64(m.Unflushed(to))
	generated := prepared + 1 // the START is counted with them
	if got := y.got[0] + y.starts + lost; got != generated && got != generated+1 || y.next[0] > prepared+1 {
		t.Errorf("after instruction %d: %d in the log, %d lost, %d generated before; the last one is %d; %s", at, y.got[0]+y.starts, lost, prepared, y.next[0], states(m))
	}
	if v.policy == Loop && v.name != "rejected" && prepared > 0 && y.next[0] < prepared {
		t.Errorf("after instruction %d: the newest of %d events is %d", at, prepared, y.next[0])
	}
	x.runTo(stepDone)
	if n := m.h.damage.Load(); n != 0 || midEvent(m) {
		t.Errorf("after instruction %d: the writer goes on, with %d damaged; %s", at, n, states(m))
	}
	return held
}
