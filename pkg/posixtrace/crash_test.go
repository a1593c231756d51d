package posixtrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The crash tests kill processes at random instants: traced processes, owners of logs,
// controllers and analyzers. Each process counts its calls in memory of its own, just before
// and just after each call; the tests compare these counts with the stream.

// cell holds the counts of one process, which alone writes it, except run.
type cell struct {
	before, after atomic.Uint64 // calls of Event that started, and that returned
	run           atomic.Uint64 // set by the harness: 1 to continue, 2 to continue without pauses
	idle          atomic.Uint64 // 1: it has paused
	ready         atomic.Uint64
	seen          atomic.Uint64 // events that an analyzer has read
	bad           atomic.Uint64 // torn or repeated ones among them
	first, last   atomic.Uint64 // numbers of the first and the last of them, plus one
	_             [7]uint64
}

const cells = 2048

// crashKills is the number of kills of all crash tests together.
func crashKills() int {
	if n, err := strconv.Atoi(os.Getenv("POSIXTRACE_KILLS")); err == nil && n > 0 {
		return n
	}
	n := tracetest.Scale(500, 10000, 250000)
	if tracetest.RaceEnabled {
		n /= 10
	}
	return n
}

func openCells(path string) ([]cell, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := cells * int(unsafe.Sizeof(cell{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	b, err := sys.Map(f, size, true)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*cell)(unsafe.Pointer(&b[0])), cells), nil
}

// crashData is the data of event n of process who, which a reader checks.
func crashData(b []byte, who, n uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b[:0], who)
	b = binary.LittleEndian.AppendUint64(b, n)
	most := uint64(50)
	if who%2 == 1 {
		most = 800 // so that a writer takes a new chunk every few events
	}
	for i := range (n*7 + who) % most {
		b = append(b, byte(i+n*31+who))
	}
	return b
}

// crashSeen is the set of events read.
type crashSeen struct {
	bits map[uint64][]uint64 // by process
	data []byte
	n    uint64
}

func (s *crashSeen) add(data []byte) error {
	if len(data) < 16 {
		return fmt.Errorf("an event of %d bytes", len(data))
	}
	who, n := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	if s.data = crashData(s.data, who, n); !bytes.Equal(s.data, data) || who >= cells || n > 1<<32 {
		return fmt.Errorf("a torn event, %d of %d: %x", n, who, data)
	}
	if s.bits == nil {
		s.bits = map[uint64][]uint64{}
	}
	b := s.bits[who]
	for uint64(len(b)) <= n/64 {
		b = append(b, 0)
	}
	s.bits[who] = b
	if b[n/64]>>(n%64)&1 != 0 {
		return fmt.Errorf("event %d of %d twice", n, who)
	}
	b[n/64] |= 1 << (n % 64)
	s.n++
	return nil
}

func init() {
	part := func(f func(me *cell, args []string) error) func(args []string) {
		return func(args []string) {
			all, err := openCells(args[0])
			if err == nil {
				who, _ := strconv.Atoi(args[1])
				err = f(&all[who], args[1:])
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "crash:", err)
				os.Exit(3)
			}
		}
	}
	// crash-target: records until paused or killed
	tracetest.Helpers["crash-target"] = part(func(me *cell, args []string) error {
		id, err := OpenEventID("crash")
		if err != nil {
			return err
		}
		who, _ := strconv.ParseUint(args[0], 10, 64)
		var b []byte
		Event(id+1000, nil) // connects to the streams that trace this process
		me.ready.Store(1)
		for n := me.before.Load(); ; {
			if me.run.Load() == 0 {
				me.idle.Store(1)
				time.Sleep(50 * time.Microsecond)
				continue
			}
			me.idle.Store(0)
			b = crashData(b, who, n)
			n++
			me.before.Store(n)
			Event(id, b)
			me.after.Store(n)
			if n%128 == 0 && me.run.Load() == 1 {
				time.Sleep(20 * time.Microsecond)
			}
		}
	})
	// crash-owner: makes a stream with a log on process args[1] and flushes it all the time
	tracetest.Helpers["crash-owner"] = part(func(me *cell, args []string) error {
		pid, _ := strconv.Atoi(args[1])
		f, err := os.Create(args[2])
		if err != nil {
			return err
		}
		attr := &Attr{Name: "owned", StreamSize: 32 << 10, LogFullPolicy: PolicyAppend}
		if args[3] == "loop" {
			attr.StreamFullPolicy = PolicyLoop
		}
		s, err := CreateWithLog(pid, attr, f)
		if err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		me.ready.Store(1)
		if args[4] == "shutdown" {
			time.Sleep(rand.N(time.Millisecond))
			return s.Shutdown()
		}
		for {
			if err := s.Flush(); err != nil {
				return err
			}
		}
	})
	// crash-control: performs all operations of a controller on the stream of another process
	tracetest.Helpers["crash-control"] = part(func(me *cell, args []string) error {
		s, err := Attach(args[1])
		if err != nil {
			return err
		}
		id, err := s.EventID("crash")
		if err != nil {
			return err
		}
		var set EventSet
		set.Add(id)
		me.ready.Store(1)
		for {
			switch rand.N(7) {
			case 0:
				err = s.Start()
			case 1:
				err = s.Stop()
			case 2:
				err = s.Clear()
			case 3:
				err = s.SetFilter(set, FilterHow(rand.N(3)))
			case 4:
				err = s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"c*"}}, {How: FilterSub, Patterns: []string{"cr*"}}})
			case 5:
				_, err = s.EventID("name" + strconv.Itoa(rand.N(30)))
			case 6:
				_, err = s.Status()
			}
			if err != nil {
				return err
			}
			if rand.N(4) == 0 { // another process may get the lock
				time.Sleep(rand.N(200 * time.Microsecond))
			}
		}
	})
	// crash-analyzer: consumes all events
	tracetest.Helpers["crash-analyzer"] = part(func(me *cell, args []string) error {
		s, err := Attach(args[1])
		if err != nil {
			return err
		}
		buf := make([]byte, 4096)
		var seen crashSeen
		me.ready.Store(1)
		for me.run.Load() == 0 {
			time.Sleep(20 * time.Microsecond)
		}
		for {
			ev, n, err := s.Next(context.Background(), buf)
			if err != nil {
				return err
			}
			if ev.ID.User() {
				if err := seen.add(buf[:n]); err != nil {
					me.bad.Add(1)
					return err
				}
				no := binary.LittleEndian.Uint64(buf[8:]) + 1
				me.first.CompareAndSwap(0, no)
				me.last.Store(no)
			}
			if ev.ID.User() || ev.ID == EventStart {
				me.seen.Add(1)
			}
		}
	})
}

// crash is the harness.
type crash struct {
	t    *testing.T
	path string
	all  []cell
	next int
	rng  *rand.Rand
}

func newCrash(t *testing.T) *crash {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	h := &crash{t: t, path: filepath.Join(t.TempDir(), "cells"), rng: rand.New(rand.NewPCG(seed, 1))}
	h.fresh()
	return h
}

// fresh starts a new page of cells, with the next process as number 0.
func (h *crash) fresh() {
	if h.all != nil {
		sys.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(&h.all[0])), cells*int(unsafe.Sizeof(cell{}))))
		os.Remove(h.path)
	}
	all, err := openCells(h.path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.all, h.next = all, 0
	h.t.Cleanup(func() {
		if &h.all[0] == &all[0] {
			sys.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), cells*int(unsafe.Sizeof(cell{}))))
		}
	})
}

// clean prepares the next cell for another process.
func (h *crash) clean() {
	c := &h.all[h.next]
	for _, w := range []*atomic.Uint64{&c.before, &c.after, &c.run, &c.idle, &c.ready, &c.seen, &c.bad, &c.first, &c.last} {
		w.Store(0)
	}
}

// victim is a process that will be killed.
type victim struct {
	*cell
	cmd *exec.Cmd
	who int
	err bytes.Buffer
}

func (h *crash) spawn(part string, args ...string) *victim {
	v := &victim{cell: &h.all[h.next], who: h.next}
	h.next++
	v.cmd = exec.Command(os.Args[0], append([]string{h.path, strconv.Itoa(v.who)}, args...)...)
	v.cmd.Env = append(os.Environ(), tracetest.HelperVar+"="+part, tracetest.Quick, "GOMAXPROCS=2")
	v.cmd.Stderr = &v.err
	if err := v.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { v.kill() })
	return v
}

// kill kills the process, which must not have printed an error.
func (v *victim) kill() {
	if v.cmd.ProcessState == nil {
		v.cmd.Process.Kill()
		v.cmd.Wait()
	}
}

// limit is a deadline that does not expire while the whole machine pauses: it is stopped,
// suspended or starved. The time between two looks at it counts as a moment at most.
type limit struct {
	left time.Duration
	last time.Time
}

func within(d time.Duration) *limit { return &limit{d, time.Now()} }

func (l *limit) over() bool {
	now := time.Now()
	l.left -= min(now.Sub(l.last), 100*time.Millisecond)
	l.last = now
	return l.left < 0
}

// wait waits until f holds. It fails when that takes too long or v prints an error.
func (h *crash) wait(v *victim, what string, f func() bool) {
	for end := within(30 * time.Second); !f(); time.Sleep(50 * time.Microsecond) {
		if end.over() {
			v.kill()
			h.t.Fatalf("%s: nothing happens; %s", what, v.err.String())
		}
	}
}

// pause gives the other processes some time.
func (h *crash) pause(most time.Duration) { time.Sleep(time.Duration(h.rng.Int64N(int64(most)))) }

// killed kills a process at a random instant and checks that it was still running.
func (h *crash) killed(v *victim) {
	v.kill()
	if !v.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		h.t.Errorf("it ended before it was killed: %v, %s", v.cmd.ProcessState, v.err.String())
	}
}

// read consumes the present content of the stream.
func (h *crash) read(s *Stream, seen *crashSeen) {
	buf := make([]byte, 4096)
	for range 5000 {
		ev, n, err := s.TryNext(buf)
		if err == ErrUnavailable {
			return
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if ev.ID == EventStart {
			seen.n++
		}
		if ev.ID.User() && n > 0 { // events of works have no data
			if err := seen.add(buf[:n]); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// said adds up the counts of the processes.
func (h *crash) said() (after, before uint64) {
	for i := range h.next {
		after += h.all[i].after.Load()
		before += h.all[i].before.Load()
	}
	return
}

// checkCounts compares the events read and lost with the counts of the processes.
func (h *crash) checkCounts(s *Stream, read, starts uint64) {
	h.t.Helper()
	st, err := s.PeekStatus()
	if err != nil {
		h.t.Fatal(err)
	}
	after, before := h.said()
	if sum := read + st.Lost; sum < after+starts || sum > before+starts {
		h.t.Errorf("%d read + %d lost = %d; generated were %d to %d", read, st.Lost, sum, after+starts, before+starts)
	}
}

// works checks that the stream still takes an event.
func (h *crash) works(s *Stream, seen *crashSeen) {
	h.t.Helper()
	buf := make([]byte, 4096)
	name := "still" + strconv.Itoa(h.rng.IntN(10))
	id, err := OpenEventID(name)
	if err != nil {
		h.t.Fatal(err)
	}
	// Other processes may stop or clear the stream meanwhile, or overwrite the event.
	for end := within(10 * time.Second); ; {
		if err := s.Start(); err != nil {
			h.t.Fatal(err)
		}
		Event(id, nil)
		for range 3000 {
			ev, n, err := s.TryNext(buf)
			switch {
			case err == nil && ev.ID == id:
				return
			case err == ErrUnavailable:
			case err != nil:
				h.t.Fatalf("the stream does not go on: %v", err)
			case ev.ID == EventStart:
				seen.n++
				continue
			case ev.ID.User():
				if name, _ := s.EventName(ev.ID); name != "crash" {
					continue
				}
				if err := seen.add(buf[:n]); err != nil {
					h.t.Fatal(err)
				}
				continue
			default:
				continue
			}
			break
		}
		if end.over() {
			h.t.Fatal("the stream does not go on")
		}
	}
}

// swept checks that the next create finds, or leaves, nothing of the killed processes.
func (h *crash) swept() {
	h.t.Helper()
	dir, err := conn.OpenDir()
	if err != nil {
		h.t.Fatal(err)
	}
	for range 2 { // the first removes the pages, the second the files that they need
		s, err := Create(0, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		if err := s.Shutdown(); err != nil {
			h.t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir.Path())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range files {
		dead := false
		if rest, ok := strings.CutPrefix(f.Name(), "p-"); ok {
			pid, _, _ := strings.Cut(rest, "-")
			dead = pid != strconv.Itoa(os.Getpid())
		}
		if dead || strings.HasPrefix(f.Name(), "s-") || strings.HasPrefix(f.Name(), "t-") || strings.HasPrefix(f.Name(), "l-") {
			h.t.Errorf("left behind: %s", f.Name())
		}
	}
}

func (h *crash) stream() *Stream {
	return running(h.t, 0, Attr{Inheritance: InheritChildren, StreamSize: 64 << 10, StreamFullPolicy: PolicyLoop})
}

// TestCrashTargets kills traced processes.
func TestCrashTargets(t *testing.T) {
	h := newCrash(t)
	for kills := crashKills() * 35 / 100; kills > 0; {
		s := h.stream()
		var seen crashSeen
		var living []*victim
		for h.next < cells-8 && kills > 0 {
			for len(living) < 4 {
				v := h.spawn("crash-target")
				v.run.Store(1)
				living = append(living, v)
			}
			i := h.rng.IntN(len(living))
			v := living[i]
			if h.rng.IntN(5) > 0 { // otherwise while it starts
				h.wait(v, "a target", func() bool { return v.after.Load() > 0 })
			}
			v.run.Store(2)
			h.pause(time.Millisecond)
			h.killed(v)
			living = append(living[:i], living[i+1:]...)
			kills--
			h.read(s, &seen)
		}
		for _, v := range living {
			v.kill()
		}
		h.read(s, &seen)
		h.read(s, &seen)
		h.checkCounts(s, seen.n, 1)
		after, _ := h.said()
		t.Logf("%d processes, %d events, %d read", h.next, after, seen.n)
		h.works(s, &seen)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		h.fresh()
	}
	h.swept()
}

// TestCrashTargetsOfLogs kills and stops traced processes of a stream with log, whose owner then shuts it down.
// The log has the events of all of them, or counts them as lost.
func TestCrashTargetsOfLogs(t *testing.T) {
	h := newCrash(t)
	path := filepath.Join(t.TempDir(), "crash.trace")
	kills := 0
	for n := 0; kills < max(crashKills()*4/100, 3); n++ {
		policy := []FullPolicy{PolicyLoop, PolicyFlush, PolicyUntilFull}[n%3]
		s := logOf(t, 0, &Attr{Inheritance: InheritChildren, StreamSize: 64 << 10, StreamFullPolicy: policy, LogFullPolicy: PolicyAppend}, path)
		var living, stopped []*victim
		for range 3 + h.rng.IntN(tracetest.Scale(3, 20, 20)) {
			living = append(living, h.spawn("crash-target"))
		}
		for _, v := range living {
			v.run.Store(2)
			h.wait(v, "a target", func() bool { return v.after.Load() > 0 })
		}
		for h.rng.IntN(3) > 0 {
			h.pause(2 * time.Millisecond)
			tracetest.OK(t, "Flush", s.Flush())
		}
		h.pause(5 * time.Millisecond)
		for i, v := range living {
			if i == 0 && n%2 == 0 {
				continue // it runs on; in other rounds it is known exactly what was generated
			}
			if i%2 == 0 {
				h.killed(v)
				kills++
				continue
			}
			tracetest.OK(t, "SIGSTOP", v.cmd.Process.Signal(syscall.SIGSTOP))
			tracetest.Wait(t, "a stopped target", func() bool {
				st, err := sys.Stat(v.cmd.Process.Pid)
				return err == nil && st.State == 'T'
			})
			stopped = append(stopped, v)
		}
		after, _ := h.said()
		tracetest.OK(t, "Shutdown", s.Shutdown())
		_, before := h.said()
		read, starts, lost, done := h.readOwned(path)
		if !done {
			t.Fatalf("round %d: the log was not completed", n)
		}
		all := starts
		if policy == PolicyLoop {
			all = 1
		}
		// The STOP of a stream without room for it counts as lost.
		if sum := read + starts + lost; sum < all+after || sum > all+1+before {
			t.Fatalf("round %d, %s: %d read + %d START + %d lost; %d and %d to %d generated", n, policy, read, starts, lost, all, after, before)
		}
		for _, v := range stopped { // they go on as if they had never been traced
			was := v.after.Load()
			tracetest.OK(t, "SIGCONT", v.cmd.Process.Signal(syscall.SIGCONT))
			h.wait(v, "a target that goes on", func() bool { return v.after.Load() > was+1 })
		}
		for _, v := range living {
			v.kill()
		}
		h.fresh()
	}
	h.swept()
}

// TestCrashAnalyzers kills consumers of a stream. Only a killed consumer may take an event and
// not count it.
func TestCrashAnalyzers(t *testing.T) {
	h := newCrash(t)
	s := h.stream()
	path := s.c.Path
	target := h.spawn("crash-target")
	target.run.Store(1)
	kills, ready := uint64(0), h.spawn("crash-analyzer", path)
	var seen, last uint64
	for n := uint64(crashKills() * 20 / 100); kills < n; kills++ {
		v := ready
		if h.next == cells-1 {
			// Cells are reused; their counts have been added up.
			h.next = 1
		}
		h.clean()
		ready = h.spawn("crash-analyzer", path)
		v.run.Store(1)
		if h.rng.IntN(5) > 0 {
			h.wait(v, "an analyzer", func() bool { return v.seen.Load() > 0 })
		}
		h.pause(time.Millisecond)
		h.killed(v)
		seen += v.seen.Load()
		if v.bad.Load() != 0 {
			t.Fatal(v.err.String())
		}
		if first := v.first.Load(); first != 0 {
			if first <= last {
				t.Fatalf("event %d was reported, and an earlier one to another reader: %d", last, first)
			}
			last = v.last.Load()
		}
	}
	ready.kill()
	seen += ready.seen.Load()
	target.kill()
	var rest crashSeen
	h.read(s, &rest)
	h.read(s, &rest)
	st, err := s.PeekStatus()
	if err != nil {
		t.Fatal(err)
	}
	after, before := target.after.Load()+1, target.before.Load()+1 // with the START
	if sum := seen + rest.n + st.Lost; sum+kills+1 < after || sum > before {
		t.Errorf("%d seen + %d left + %d lost = %d; %d to %d were generated and %d analyzers killed", seen, rest.n, st.Lost, sum, after, before, kills)
	}
	t.Logf("%d kills; %d events, %d seen by the killed, %d lost", kills, after, seen, st.Lost)
	h.works(s, &rest)
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	h.swept()
}

// TestCrashControllers kills controllers of a stream that another process owns.
func TestCrashControllers(t *testing.T) {
	h := newCrash(t)
	s := h.stream()
	var seen crashSeen
	target := h.spawn("crash-target")
	target.run.Store(1)
	ready := h.spawn("crash-control", s.c.Path)
	for range crashKills() * 20 / 100 {
		v := ready
		if h.next == cells-1 {
			h.next = 1
		}
		h.clean()
		ready = h.spawn("crash-control", s.c.Path)
		if h.rng.IntN(5) > 0 {
			h.wait(v, "a controller", func() bool { return v.ready.Load() > 0 })
		}
		h.pause(time.Millisecond)
		h.killed(v)
		h.read(s, &seen)
		switch h.rng.IntN(4) {
		case 0:
			if err := s.SetFilter(EventSet{}, FilterSet); err != nil {
				t.Fatal(err)
			}
			h.works(s, &seen)
		case 1:
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
	ready.kill()
	if err := s.SetFilter(EventSet{}, FilterSet); err != nil {
		t.Fatal(err)
	}
	h.works(s, &seen)
	// From now on no event is missing.
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	target.run.Store(0)
	h.wait(target, "the target", func() bool { return target.idle.Load() != 0 })
	h.read(s, &seen)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	st, err := s.PeekStatus()
	if err != nil {
		t.Fatal(err)
	}
	from, read, lost := target.after.Load(), seen.n, st.Lost
	target.run.Store(1)
	h.wait(target, "the target", func() bool { return target.after.Load() > from+100 })
	target.kill()
	h.read(s, &seen)
	h.read(s, &seen)
	if st, err = s.PeekStatus(); err != nil {
		t.Fatal(err)
	}
	sum := seen.n - read + st.Lost - lost
	if sum < target.after.Load()-from || sum > target.before.Load()-from+1 {
		t.Errorf("%d of %d to %d", sum, target.after.Load()-from, target.before.Load()-from+1)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	h.swept()
}

// TestCrashOwners kills owners of logs while they create the stream, flush it and shut it
// down. The next process that looks completes the log, with every event of the traced process,
// which continues.
func TestCrashOwners(t *testing.T) {
	h := newCrash(t)
	target := h.spawn("crash-target")
	h.wait(target, "the target", func() bool { return target.ready.Load() != 0 })
	path := filepath.Join(t.TempDir(), "owned.trace")
	finished, events, startless := 0, 0, 0
	for n := range crashKills() * 25 / 100 {
		if h.next == cells-1 {
			h.next = 1
		}
		h.clean()
		policy, end := "flush", "flush"
		if h.rng.IntN(3) == 0 {
			policy = "loop"
		}
		early := h.rng.IntN(5) == 0
		if h.rng.IntN(4) == 0 {
			end = "shutdown"
		}
		os.Remove(path)
		after, before := target.after.Load(), target.before.Load()
		v := h.spawn("crash-owner", strconv.Itoa(target.cmd.Process.Pid), path, policy, end)
		if early {
			target.run.Store(1)
			h.pause(10 * time.Millisecond)
		} else {
			h.wait(v, "an owner", func() bool { return v.ready.Load() != 0 })
			target.run.Store(1 + h.rng.Uint64N(2))
			h.pause(2 * time.Millisecond)
		}
		v.kill()
		if s := v.err.String(); s != "" {
			t.Fatalf("round %d: %s", n, s)
		}
		h.pause(500 * time.Microsecond)
		target.run.Store(0)
		h.wait(target, "the target", func() bool { return target.idle.Load() != 0 })
		after, before = target.after.Load()-after, target.before.Load()-before
		switch h.rng.IntN(3) { // the next process
		case 0:
			if _, err := List(); err != nil {
				t.Fatal(err)
			}
		case 1:
			s, err := Create(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
		}
		read, starts, lost, done := h.readOwned(path)
		if done {
			finished++
			events += int(read)
			if starts == 0 && !early {
				startless++
			}
		}
		// A stream shut down by a call while the target was recording does not count the events
		// after that. Under LOOP the START is overwritten like any other event if a flush that has
		// just closed its chunk stalls. A stream that restarts automatically has several.
		all := starts
		if policy == "loop" {
			all = 1
		}
		if sum := read + starts + lost; done && !early && end == "flush" && (sum < all+after || sum > all+before) {
			t.Fatalf("round %d, %s: %d read + %d START + %d lost; %d and %d to %d generated", n, policy, read, starts, lost, all, after, before)
		}
		list, err := List()
		if err != nil {
			t.Fatal(err)
		}
		if !early && !done {
			t.Fatalf("round %d: the log was not completed", n)
		}
		if len(list) != 0 {
			t.Fatalf("round %d: %v is left", n, list)
		}
	}
	t.Logf("%d logs completed, with %d events; %d without their START", finished, events, startless)
	target.kill()
	h.swept()
}

// readOwned reads a log that is expected to be complete, if its owner started it.
func (h *crash) readOwned(path string) (read, starts, lost uint64, done bool) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f)
	if errors.Is(err, syscall.EINVAL) { // its owner had not started it
		return
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Close()
	var seen crashSeen
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if rec.ID == EventStart {
			starts++
		}
		if rec.ID.User() && r.EventName(rec.ID) == "crash" {
			if err := seen.add(rec.Data); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	state, err := r.State()
	st := r.Status()
	if state != LogFinished && state != LogUnfinished {
		h.t.Fatalf("the log is %v: %v", state, err)
	}
	return seen.n, starts, st.Lost + st.LogLost, state == LogFinished
}
