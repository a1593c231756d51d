package stream

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestCrashOfCAndGoWriters does what TestAccountsAfterKilledWriters does, with writers in C and in Go in each
// stream, most of them in C. POSIXTRACE_KILLS sets another number of kills.
func TestCrashOfCAndGoWriters(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	tracetest.OnlyWithoutRace(t)
	total := tracetest.Scale(1000, 10000, 250000)
	if n, err := strconv.Atoi(os.Getenv("POSIXTRACE_KILLS")); err == nil && n > 0 {
		total = n
	}
	prog := cPeer(t)
	mix := func(who int) string {
		if who%5 == 0 {
			return ""
		}
		return prog
	}
	kinds := []struct {
		mode   string
		policy uint8
		size   int64
	}{
		{"owned", Loop, 256 << 10},
		{"short", Loop, 64 << 10},
		{"large", Loop, 16 << 10},
		{"owned", UntilFull, 64 << 10},
		{"large", UntilFull, 16 << 10},
	}
	const most = 800 // in one stream: each writer has an oracle
	for round := 0; total > 0; round++ {
		k := kinds[round%len(kinds)]
		kills := min(total, most, max(total/(len(kinds)-round%len(kinds)), 1))
		total -= kills
		t.Run(fmt.Sprintf("%s/policy%d/%d", k.mode, k.policy, round), func(t *testing.T) {
			testKillOf(t, mix, k.mode, k.policy, k.size, kills, 1500)
		})
	}
}

// TestRoomAfterStormOfCAndGo does what TestRoomAfterStorm does, with processes in C and in Go.
func TestRoomAfterStormOfCAndGo(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	prog := cPeer(t)
	for i, c := range []storm{
		{procs: 2, writers: 50, size: 128 << 10, policy: Loop},
		{procs: 24, writers: 1, size: 64 << 10, policy: Loop, peek: true},
		{procs: 8, writers: 4, size: 256 << 10, policy: Loop, stops: 2, kills: 4},
		{procs: 12, writers: 2, size: 64 << 10, policy: UntilFull, stops: 2},
	} {
		c.prog = prog
		t.Run(c.String(), func(t *testing.T) {
			c.test(t, uint64(i), time.Duration(tracetest.Scale(100, 2000, 5000))*time.Millisecond)
		})
	}
}

// TestCThreadsHaveNoDataRace has threads of a program in C record, under the sanitizer for threads, which
// sees those of one process.
func TestCThreadsHaveNoDataRace(t *testing.T) {
	tracetest.NeedProgram(t, "setarch")
	prog := "setarch -R " + cPeer(t, "-g", "-fsanitize=thread", "-Wno-tsan") // which does not know every layout of memory
	for _, policy := range []uint8{Loop, UntilFull} {
		dir, m, all := killStream(t, policy, 64<<10)
		ctl := newWriter(t, m, 1)
		m.Start(ctl, Event{})
		p := startStorm(t, prog, dir, 0, "storm 6 100")
		time.Sleep(time.Duration(tracetest.Scale(300, 3000, 10000)) * time.Millisecond)
		all[stormPhase].before.Store(stormEnds)
		tracetest.Wait(t, "the threads", func() bool { return all[stormDone].before.Load() == 6 })
		p.in.Close()
		if err := p.Wait(); err != nil {
			t.Errorf("policy %d: %v\n%.5000s", policy, err, p.errs.String())
		}
	}
}

// TestCDataFaultLeavesNoBusyChunk records data that cannot be read, wholly or at one of its ends, in a
// program in C that survives the fault.
func TestCDataFaultLeavesNoBusyChunk(t *testing.T) {
	prog := cPeer(t)
	for _, mode := range []string{"fault own", "fault open"} {
		dir, m, all := killStream(t, Loop, 64<<10)
		ctl := newWriter(t, m, 1)
		m.Start(ctl, Event{})
		p := startStorm(t, prog, dir, 0, mode)
		tracetest.Wait(t, "the faults", func() bool { return all[stormDone].before.Load() == 1 })
		if n := busyChunks(m); n != 0 {
			t.Errorf("%s: %d chunks are busy; %s", mode, n, states(m))
		}
		y := newTally(t, 1)
		readInto(m.NewReader(), y)
		if faults, recorded := all[0].refused.Load(), all[0].recorded.Load(); faults < 20 || y.got[0] != recorded {
			t.Errorf("%s: %d faults, %d events recorded, %d read", mode, faults, recorded, y.got[0])
		}
		p.in.Close()
		tracetest.OK(t, mode, p.Wait())
	}
}

// TestCTimerSignals interrupts threads of a program in C 25,000 times a second by a handler that records,
// too, and in some runs does not return now and then. What was recorded is read or counted as lost,
// nothing twice. When the signals are over the writers soon have chunks of their own again.
func TestCTimerSignals(t *testing.T) {
	prog := cPeer(t)
	for _, policy := range []uint8{Loop, UntilFull} {
		for _, jumps := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("policy%d/jumps%d", policy, jumps), func(t *testing.T) { testTimers(t, prog, policy, jumps) })
		}
	}
}

func testTimers(t *testing.T, prog string, policy uint8, jumps int) {
	const threads, calm = 2, 2000
	dir, m, all := killStream(t, policy, 256<<10)
	ctl := newWriter(t, m, 1)
	ctl.Short()
	m.Start(ctl, Event{})
	y := newTally(t, 2*threads)
	y.order = false // a handler's event may be older than the one that it interrupts
	r := m.NewReader()
	starts := uint64(1)
	take := func() {
		drainSome(r, y)
		if m.Restartable() {
			m.Restart(ctl)
			starts++
		}
	}
	p := startStorm(t, prog, dir, 0, fmt.Sprintf("timer %d %d %d", threads, jumps, calm))
	most := 0
	gone := func() bool { // more than may be under way
		left := uint64(0)
		for i := range y.got {
			over := all[i].recorded.Load() + all[i].refused.Load()
			left += all[i].before.Load() - over
		}
		return jumps == 0 || left > 4*threads
	}
	for more := lasting(time.Duration(tracetest.Scale(200, 3000, 10000))*time.Millisecond, gone); more(); {
		take()
		most = max(most, busyChunks(m))
	}
	all[stormPhase].before.Store(stormEnds)
	for end := time.Now().Add(time.Minute); all[stormDone].before.Load() < threads; {
		take()
		if time.Now().After(end) {
			t.Fatalf("%d of %d threads are ready; %s", all[stormDone].before.Load(), threads, states(m))
		}
	}
	for range 4 {
		take()
	}
	readInto(r, y)
	var before, recorded, refused uint64
	for i := range y.got {
		b, rec, ref := all[i].before.Load(), all[i].recorded.Load(), all[i].refused.Load()
		if left := b - rec - ref; jumps == 0 && left != 0 {
			t.Errorf("writer %d has left %d events", i, left)
		}
		if y.got[i] > b || policy != Loop && y.got[i] < rec {
			t.Errorf("writer %d: %d read, %d started, %d recorded", i, y.got[i], b, rec)
		}
		before, recorded, refused = before+b, recorded+rec, refused+ref
	}
	if sum := y.total() + y.starts + m.Lost(); sum < recorded+refused+starts || sum > before+starts {
		t.Errorf("%d read, %d lost, not from %d to %d", y.total()+y.starts, m.Lost(), recorded+refused+starts, before+starts)
	}
	left := before - recorded - refused
	if jumps > 0 && left == 0 {
		t.Error("no event was left")
	}
	if n := busyChunks(m); n > 2 || jumps == 0 && n > 0 { // one of each shard
		t.Errorf("%d chunks stay busy; %s", n, states(m))
	}
	if most > 2*threads+2 {
		t.Errorf("%d chunks were busy at once", most)
	}
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
	p.in.Close()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d events, %d of them of handlers, %d left, %d lost; at most %d busy; %s",
		before, all[1].before.Load()+all[3].before.Load(), left, m.Lost(), most, states(m))
}

func busyChunks(m *Mem) (n int) {
	for i := range m.Chunks {
		if word(m, i).busy() {
			n++
		}
	}
	return n
}
