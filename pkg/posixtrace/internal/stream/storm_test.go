package stream

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// stall starts an event of w in an open chunk and stops in the middle of it, like a
// writer that the kernel does not run, until the test calls the function that stall returns.
func stall(t *testing.T, w *Writer, data []byte) (end func()) {
	t.Helper()
	in, out, done := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	go func() {
		done <- w.force(&Event{ID: event.FirstUser}, data, func() uint64 {
			close(in)
			<-out
			return w.m.now()
		})
	}()
	select {
	case <-in:
	case ok := <-done:
		t.Fatalf("the writer is not stopped: %v", ok)
	}
	return func() { close(out); <-done }
}

// checkRoom records as many events as the stream has promised room for, and checks that the stream
// holds all of them.
func checkRoom(t *testing.T, m *Mem, w *Writer, who uint32, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	e := Event{ID: event.FirstUser, TID: who, Addr: 1}
	n := uint64(0)
	for budget := m.MinSize; ; n++ {
		size := stampSize + rng.IntN(60)
		if rng.IntN(10) == 0 {
			size = stampSize + rng.IntN(m.MaxData-stampSize)
		}
		if budget -= int64(chunk.EventSize(size)); budget < 0 {
			break
		}
		if !w.Record(0, &e, stamp(nil, who, n, size)) {
			t.Fatalf("an idle stream refuses event %d; %s", n, states(m))
		}
	}
	if got := newest(t, m)[who]; uint64(len(got)) != n {
		t.Errorf("an idle stream has %d of the %d events that it has room for; %s", len(got), n, states(m))
	}
}

// newest returns the events that the stream holds, by writer.
func newest(t *testing.T, m *Mem) map[uint32]map[uint64]bool {
	t.Helper()
	return held(t, m.Snapshot())
}

// held returns the events that r reports.
func held(t *testing.T, r source) map[uint32]map[uint64]bool {
	t.Helper()
	got := make(map[uint32]map[uint64]bool)
	var rec chunk.Record
	for r.Next(&rec) {
		if rec.Event != event.FirstUser {
			continue
		}
		who, n, err := unstamp(rec.Data)
		if err != nil {
			t.Fatal(err)
		}
		if got[who] == nil {
			got[who] = make(map[uint64]bool)
		}
		if got[who][n] {
			t.Errorf("event %d of writer %d twice", n, who)
		}
		got[who][n] = true
	}
	return got
}

// states counts the chunks by state.
func states(m *Mem) string {
	var n [8]int
	busy, found := 0, 0
	for i := range m.Chunks {
		c := word(m, i)
		n[c.state()]++
		if c.busy() {
			busy++
		}
		if c.state() == open && m.registered(i) {
			found++
		}
	}
	return fmt.Sprintf("%d chunks: %d free, %d claiming, %d owned, %d open (%d of them found by writers), %d full, %d partial; %d busy",
		m.Chunks, n[free], n[claiming], n[owned], n[open], found, n[full], n[partial], busy)
}

// TestReplacedOpenChunksServeAgain makes all open chunks busy at once, again and again, until each chunk
// of the stream was one. Replaced chunks serve again as soon as their writers go on.
func TestReplacedOpenChunksServeAgain(t *testing.T) {
	for _, c := range []struct {
		policy uint8
		stalls int // beyond the open chunks
		owners int
	}{
		{Loop, 0, 0}, {Loop, 1, 0}, {Loop, 4, 0}, {Loop, 0, 4}, {Loop, 4, 4}, {Loop, 12, 4},
		{UntilFull, 0, 0}, {UntilFull, 4, 0}, {Flush, 4, 4},
	} {
		t.Run(fmt.Sprintf("policy%d/%dmore/%downers", c.policy, c.stalls, c.owners), func(t *testing.T) {
			testEvicted(t, c.policy, c.stalls, c.owners)
		})
	}
}

func testEvicted(t *testing.T, policy uint8, more, owners int) {
	m := newMem(t, 64<<10, policy)
	ctl := newWriter(t, m, 1)
	ctl.Short()
	m.Start(ctl, Event{})
	for i := range owners {
		o := newWriter(t, m, 1)
		if !o.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 1000+uint32(i), 0, 20)) {
			t.Fatal("the first event is refused")
		}
	}
	var ws []*Writer
	for range m.OpenChunks + more {
		w := newWriter(t, m, 1)
		w.Short()
		ws = append(ws, w)
	}
	w := newWriter(t, m, 1)
	w.Short()
	n, rounds := uint64(0), 2*m.Chunks
	if more > m.Permits+m.OpenChunks {
		rounds = m.Chunks / 2 // each takes a wait
	}
	if policy != Loop {
		rounds = 30 // their events are a fraction of the promise
	}
	last := make(map[uint32]uint64)
	for round := range rounds {
		var ends []func()
		for i, s := range ws {
			ends = append(ends, stall(t, s, stamp(nil, uint32(i), uint64(round), 20)))
			last[uint32(i)] = uint64(round)
		}
		n++
		if !w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 999, n, 20)) {
			t.Fatalf("round %d: the event finds no room; %s", round, states(m))
		}
		last[999] = n
		for _, end := range ends {
			end()
		}
		got := newest(t, m)
		for who, n := range last {
			if !got[who][n] {
				t.Fatalf("round %d: the newest event of writer %d is missing; %s", round, who, states(m))
			}
		}
	}
	if policy == Loop {
		checkRoom(t, m, w, 998, 1)
		checkRoom(t, m, newWriter(t, m, 1), 997, 2)
	} else if m.Lost() != 0 {
		t.Errorf("%d lost", m.Lost())
	}
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
}

// TestKilledWritersGiveRoomBack kills more writers in the middle of an event than the stream has permits
// for. The next writer that finds no permit calls Recover, and the room is back.
func TestKilledWritersGiveRoomBack(t *testing.T) {
	m := newMem(t, 64<<10, Loop)
	ctl := newWriter(t, m, 1)
	ctl.Short()
	m.Start(ctl, Event{})
	dead := make(map[sys.Proc]bool)
	recovered := 0
	recoverDead := func() {
		recovered++
		m.Recover(func(p sys.Proc) bool { return dead[p] })
	}
	w := newWriter(t, m, 1)
	w.Short()
	w.OnCrowded = recoverDead
	for i := range uint32(3 * m.Chunks) {
		p := sys.Proc{PID: 1000 + i, Start: 1}
		slot, ok := m.TakeSlot(p, nil)
		if !ok {
			t.Fatal("no slot")
		}
		victim, err := m.NewWriter(slot, p.PID, 1)
		if err != nil {
			t.Fatal(err)
		}
		victim.Short()
		victim.OnCrowded = recoverDead
		in, out := make(chan bool), make(chan struct{})
		go func() {
			defer close(out)
			victim.force(&Event{ID: event.FirstUser}, stamp(nil, i, 0, 20), func() uint64 {
				close(in)
				runtime.Goexit() // as if killed
				return 0
			})
		}()
		<-in
		<-out
		dead[p] = true
		if !w.Record(0, &Event{ID: event.FirstUser}, stamp(nil, 999, uint64(i), 20)) {
			t.Fatalf("an event finds no room; %s", states(m))
		}
	}
	if recovered == 0 {
		t.Error("the writer did not call Recover")
	}
	recoverDead()
	checkRoom(t, m, w, 998, 3)
}

// Words that the processes of a storm and the test share, beside the oracle of each writer.
const (
	stormPhase = oracles - 1 - iota // before: the phase that the processes are to do
	stormDone                       // before: how many goroutines have done so
	stormWriters
)

const (
	stormRages = iota
	stormEnds
)

// stormVictim is a process of a storm: mode is "storm", how many writers it has, and
// how many events each of them writes at the end.
func stormVictim(m *Mem, all []oracle, who int, mode string) {
	var writers, last int
	fmt.Sscanf(mode, "storm %d %d", &writers, &last)
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		fmt.Println("no slot")
		os.Exit(1)
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, runtime.GOMAXPROCS(0))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			me := uint32(who + g)
			o := &all[me]
			rng := rand.New(rand.NewPCG(uint64(me), 3))
			var buf []byte
			e := Event{ID: event.FirstUser, TID: me}
			n := uint64(0)
			record := func(size int) {
				n++
				e.Addr = uint64(rng.IntN(5))
				buf = stamp(buf, me, n, size)
				o.before.Store(n)
				if w.Record(rng.IntN(2), &e, buf) {
					o.recorded.Add(1)
				} else {
					o.refused.Add(1)
				}
			}
			for all[stormPhase].before.Load() == stormRages {
				record(stampSize + rng.IntN(40))
			}
			for range last {
				record(stormSize)
			}
			all[stormDone].before.Add(1)
		})
	}
	wg.Wait()
	io.Copy(io.Discard, os.Stdin) // stay alive
}

// stormSize is the data of the last events of a writer.
const stormSize = 16

// TestRoomAfterStorm checks that after a storm an idle stream holds each writer's newest events, and has
// the room that it has promised. In a storm more processes and goroutines write than there are
// processors, so that the kernel interrupts many in the middle of an event; some are stopped
// and some are killed.
func TestRoomAfterStorm(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	for i, c := range []storm{
		{procs: 1, writers: 200, size: 128 << 10, policy: Loop},
		{procs: 5, writers: 1, size: 64 << 10, policy: Loop},
		{procs: 24, writers: 1, size: 64 << 10, policy: Loop, peek: true},
		{procs: 8, writers: 4, size: 256 << 10, policy: Loop, stops: 3},
		{procs: 8, writers: 4, size: 256 << 10, policy: Loop, stops: 2, kills: 4},
		{procs: 12, writers: 2, size: 64 << 10, policy: UntilFull, stops: 2},
	} {
		t.Run(c.String(), func(t *testing.T) {
			c.test(t, uint64(i), time.Duration(tracetest.Scale(200, 2000, 5000))*time.Millisecond)
		})
	}
	if !tracetest.Full() {
		return
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for range tracetest.Scale(0, 20, 200) {
		c := storm{
			procs: 1 + rng.IntN(64), writers: 1 << rng.IntN(9), size: 32 << 10 << rng.IntN(10),
			policy: []uint8{Loop, Loop, Loop, UntilFull, Flush}[rng.IntN(5)], peek: rng.IntN(3) == 0,
		}
		c.writers = min(c.writers, 1000/c.procs)
		c.stops, c.kills = rng.IntN(1+min(c.procs/2, 4)), rng.IntN(1+c.procs/2)
		c.size = max(c.size, int64(c.procs*c.writers)*512)
		seed := rng.Uint64()
		t.Run(fmt.Sprintf("%v/seed%x", c, seed), func(t *testing.T) { c.test(t, seed, time.Second) })
	}
}

// storm is the number of processes of a storm and of writers in each, the size and policy of the
// stream, how many processes are stopped at the end and how many are killed before, and whether the
// test takes snapshots meanwhile.
type storm struct {
	procs, writers int
	size           int64
	policy         uint8
	stops, kills   int
	peek           bool
	log            bool   // at the end the stream is shut down, as by the owner of a log
	prog           string // of every process but each third, "" for this one
}

func (c storm) String() string {
	return fmt.Sprintf("policy%d/%dx%d/%dK/stops%d/kills%d/peek=%v/log=%v", c.policy, c.procs, c.writers, c.size>>10, c.stops, c.kills, c.peek, c.log)
}

func (c storm) test(t *testing.T, seed uint64, rage time.Duration) {
	dir, m, all := killStream(t, c.policy, c.size)
	ctl := newWriter(t, m, 1)
	ctl.Short()
	m.Start(ctl, Event{})
	// The events that the writers record after the storm are part of the promise. So is the event that
	// each may not have finished by then.
	last := int(m.MinSize/2)/(c.procs*c.writers*chunk.EventSize(stormSize)) - 2
	if last < 1 {
		t.Fatal("this storm is too large for its stream")
	}
	if c.policy != Loop {
		last = 0
	}
	var cmds []*storming
	for i := range c.procs {
		prog := c.prog
		if i%3 == 2 {
			prog = ""
		}
		cmds = append(cmds, startStorm(t, prog, dir, i*c.writers, fmt.Sprintf("storm %d %d", c.writers, last)))
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	var living, stopped []int
	for i := range c.procs {
		living = append(living, i)
	}
	pick := func() (p int) {
		i := rng.IntN(len(living))
		p = living[i]
		living = append(living[:i], living[i+1:]...)
		return
	}
	for end := time.Now().Add(rage); time.Now().Before(end); {
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		p := living[rng.IntN(len(living))]
		if c.stops > 0 {
			cmds[p].Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
			cmds[p].Process.Signal(syscall.SIGCONT)
		}
		if c.peek {
			r := m.Snapshot()
			held(t, r)
		}
	}
	for range c.kills {
		p := pick()
		cmds[p].Process.Kill()
		cmds[p].Wait()
	}
	for range c.stops {
		p := pick()
		cmds[p].Process.Signal(syscall.SIGSTOP)
		var st syscall.WaitStatus
		if _, err := syscall.Wait4(cmds[p].Process.Pid, &st, syscall.WUNTRACED, nil); err != nil || !st.Stopped() {
			t.Fatalf("process %d is not stopped: %v, %v", p, st, err)
		}
		stopped = append(stopped, p)
	}
	if c.log {
		c.complete(t, m, all)
		return
	}
	if c.kills > 0 {
		m.Recover(gone) // as a process that joins such a stream does
	}
	all[stormPhase].before.Store(stormEnds)
	wait := func(what string, procs int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); all[stormDone].before.Load() < uint64(procs*c.writers); {
			if time.Now().After(end) {
				t.Fatalf("%s: %d of %d writers are ready after a minute; %s", what, all[stormDone].before.Load(), procs*c.writers, states(m))
			}
			time.Sleep(time.Millisecond)
		}
	}
	check := func(what string, procs []int) {
		t.Helper()
		got := newest(t, m)
		for _, p := range procs {
			for g := range c.writers {
				who := p*c.writers + g
				n := all[who].before.Load()
				for k := range last {
					if !got[uint32(who)][n-uint64(k)] {
						t.Errorf("%s: of the last %d events of writer %d the one before %d others is missing; %s", what, last, who, k, states(m))
						return
					}
				}
			}
		}
	}
	wait("after the storm", len(living))
	if c.policy != Loop {
		c.checkFull(t, m, all)
		return
	}
	// Stopped processes have several goroutines in the middle of an event. The stream has its
	// promised room as long as they are no more than its permits.
	busy := 0
	for i := range m.Chunks {
		if word(m, i).busy() {
			busy++
		}
	}
	within := busy <= m.Permits
	if within {
		check("after the storm", living)
	} else {
		t.Logf("%d writers are stopped in the middle of an event", busy)
	}
	room := func(who uint32) {
		t.Helper()
		slot, ok := m.TakeSlot(sys.SelfProc(), nil)
		if !ok {
			t.Fatal("no slot")
		}
		w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
		if err != nil {
			t.Fatal(err)
		}
		if who%2 == 0 {
			w.Short()
		}
		checkRoom(t, m, w, who, seed)
		w.Close()
		m.FreeSlot(slot)
	}
	if within {
		room(stormWriters)
		room(stormWriters - 1)
	}
	for _, p := range stopped {
		cmds[p].Process.Signal(syscall.SIGCONT)
	}
	wait("after those stopped went on", len(living)+len(stopped))
	check("after those stopped went on", stopped)
	checkWritable(t, m)
	room(stormWriters - 2)
	room(stormWriters - 3)
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
	var recorded, refused uint64
	for i := range all[:c.procs*c.writers] {
		recorded += all[i].recorded.Load()
		refused += all[i].refused.Load()
	}
	t.Logf("%d events recorded, %d refused; %s", recorded, refused, states(m))
}

// complete stops the stream in the storm and flushes it for the last time, as the owner of a log does that
// shuts it down. The log has the events of all writers, or they are counted as lost.
func (c storm) complete(t *testing.T, m *Mem, all []oracle) {
	t.Helper()
	all = all[:c.procs*c.writers]
	sum := func() (returned, started uint64) {
		for i := range all {
			returned += all[i].recorded.Load() + all[i].refused.Load()
			started += all[i].before.Load()
		}
		return
	}
	slot, ok := m.TakeSlot(sys.SelfProc(), nil)
	if !ok {
		t.Fatal("no slot")
	}
	w, err := m.NewWriter(slot, sys.SelfProc().PID, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Short()
	least, _ := sum()
	m.Recover(gone)
	m.Stop(w, Event{})
	_, most := sum()
	y := newTally(t, oracles)
	y.order = false
	to := &Sink{
		Room: math.MaxInt64, Last: true, Lost: func(int) {},
		Put:     func(b *Block) (bool, error) { return false, y.block(b) },
		Recover: func() { m.Recover(gone) },
	}
	if _, err := m.Flush(slot, to); err != nil {
		t.Fatal(err)
	}
	lost := m.Lost() + m.LostInClaims() + uint64(m.Unflushed(to))
	// A START that is overwritten counts as lost, and so does the STOP of a LOOP stream without room for it.
	if got := y.total() + y.starts + lost; got < least+1 || got > most+2 {
		t.Errorf("%d in the log + %d lost, not from %d to %d; %s", y.total()+y.starts, lost, least, most, states(m))
	}
	if n := m.h.damage.Load(); n != 0 {
		t.Errorf("%d damaged", n)
	}
	t.Logf("%d to %d events, %d in the log, %d lost; %s", least, most, y.total(), lost, states(m))
}

// TestLogAfterStorm completes logs in storms of writers that run, are stopped and are killed.
func TestLogAfterStorm(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	testLogAfterStorm(t, "", 3)
}

// TestLogAfterStormOfCAndGo does what TestLogAfterStorm does, with processes in C and in Go.
func TestLogAfterStormOfCAndGo(t *testing.T) {
	tracetest.Need(t, !testing.Short(), "a run without -short")
	testLogAfterStorm(t, cPeer(t), 2)
}

func testLogAfterStorm(t *testing.T, prog string, storms int) {
	for i := range tracetest.Scale(storms, 60, 600) {
		rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
		c := storm{
			procs: 5 + rng.IntN(tracetest.Scale(8, 20, 20)), writers: 1 + rng.IntN(tracetest.Scale(2, 4, 4)), size: 64 << 10 << rng.IntN(3),
			policy: []uint8{Loop, UntilFull, Loop, Flush}[i%4], log: true, prog: prog,
		}
		c.stops, c.kills = rng.IntN(3), rng.IntN(3)
		t.Run(c.String(), func(t *testing.T) { c.test(t, rng.Uint64(), 40*time.Millisecond) })
	}
}

// checkFull checks a stream that stops when it is full: it has accepted the promised events first,
// and holds everything that it has accepted.
func (c storm) checkFull(t *testing.T, m *Mem, all []oracle) {
	t.Helper()
	if m.State()&Full == 0 {
		t.Fatal("the storm was too small for the stream")
	}
	got := newest(t, m)
	size := int64(0)
	var recorded uint64
	for who := range c.procs * c.writers {
		// A killed or stopped writer may have an unfinished event.
		have, rec := uint64(len(got[uint32(who)])), all[who].recorded.Load()
		if have < rec || have > rec+1 {
			t.Errorf("writer %d: %d events are read, %d were recorded", who, have, rec)
		}
		size += int64(have) * int64(chunk.EventSize(stampSize+39))
		recorded += rec
	}
	if size < m.MinSize {
		t.Errorf("the stream was full with %d events, of less than %d bytes, and has promised %d; %s", recorded, size, m.MinSize, states(m))
	}
	t.Logf("%d events recorded; %s", recorded, states(m))
}
