package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// These tests need several real processes: this test binary, started
// again with one of these parts to play.

func init() {
	// controller: makes a stream with a log on process args[0], starts it, and
	// waits to be killed.
	tracetest.Helpers["controller"] = func(args []string) {
		pid, _ := strconv.Atoi(args[0])
		f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			var s *posixtrace.Stream
			if s, err = posixtrace.CreateWithLog(pid, &posixtrace.Attr{Name: args[2], LogFullPolicy: posixtrace.PolicyAppend, StreamFullPolicy: posixtrace.PolicyUntilFull}, f); err == nil {
				err = s.Start()
			}
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready")
		select {}
	}
}

// got is one event, with its name, as the tests compare it.
type got struct {
	name string
	data string
	pid  int
}

func (g got) String() string { return fmt.Sprintf("%s(%q) of %d", g.name, g.data, g.pid) }

// drain reads every user event that is ready.
func drain(t *testing.T, s *posixtrace.Stream) (list []got) {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		ev, n, err := s.TryNext(buf)
		if err == posixtrace.ErrUnavailable {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.ID.User() {
			name, err := s.EventName(ev.ID)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, got{name, string(buf[:n]), ev.PID})
		}
	}
}

func running(t *testing.T, pid int, attr posixtrace.Attr) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.Create(pid, &attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(t *testing.T, have []got, want ...got) {
	t.Helper()
	if len(have) != len(want) {
		t.Fatalf("have %v, want %v", have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			t.Fatalf("event %d is %v, want %v", i, have[i], want[i])
		}
	}
}

// A process that knew nothing of tracing becomes traced while it runs.
func TestTraceRunningProcess(t *testing.T) {
	c := tracetest.Start(t, "target")
	if l := c.Line(); l != strconv.Itoa(c.PID) {
		t.Fatal(l)
	}
	c.Say("before ignored")
	s := running(t, c.PID, posixtrace.Attr{})
	c.Say("first one")
	c.Say("before again")
	equal(t, drain(t, s), got{"first", "one", c.PID}, got{"before", "again", c.PID})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	c.Say("first stopped")
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c.Say("first two")
	equal(t, drain(t, s), got{"first", "two", c.PID})
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	c.Say("first gone")
}

// Two streams on one process do not disturb each other (CRE-13).
func TestTwoStreamsTwoFilters(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	a, b := running(t, c.PID, posixtrace.Attr{}), running(t, c.PID, posixtrace.Attr{})
	for s, name := range map[*posixtrace.Stream]string{a: "x", b: "y"} {
		id, err := s.EventID(name)
		if err != nil {
			t.Fatal(err)
		}
		var set posixtrace.EventSet
		set.Add(id)
		if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
			t.Fatal(err)
		}
	}
	c.Say("x 1")
	c.Say("y 2")
	c.Say("z 3")
	equal(t, drain(t, a), got{"y", "2", c.PID}, got{"z", "3", c.PID})
	equal(t, drain(t, b), got{"x", "1", c.PID}, got{"z", "3", c.PID})
	ida, _ := a.EventID("x")
	idb, _ := b.EventID("x")
	if ida != idb {
		t.Errorf("x is %d in one stream and %d in the other", ida, idb)
	}
}

// Patterns of a filter apply to names registered later (FIL-15).
func TestFilterPattern(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, posixtrace.Attr{})
	err := s.FilterOps([]posixtrace.FilterOp{
		{How: posixtrace.FilterAdd, Patterns: []string{"noise.*"}},
		{How: posixtrace.FilterSub, Patterns: []string{"noise.bad"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Say("noise.one 1")
	c.Say("noise.bad 2")
	c.Say("signal 3")
	equal(t, drain(t, s), got{"noise.bad", "2", c.PID}, got{"signal", "3", c.PID})
}

// Children are traced when the stream is inherited: through shells and exec,
// also when the process between is gone, and not when the stream is not inherited.
func TestInheritance(t *testing.T) {
	for _, inherit := range []posixtrace.Inheritance{posixtrace.InheritChildren, posixtrace.InheritNone} {
		t.Run(inherit.String(), func(t *testing.T) {
			s, err := posixtrace.CreateForChild(&posixtrace.Attr{Inheritance: inherit}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Shutdown()
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			info, err := s.Info()
			if err != nil {
				t.Fatal(err)
			}
			// The last event comes from a process whose parents are gone: the shell
			// that started it has ended when it runs, and its session is another's.
			script := `
				$EVENT direct a
				( ( $EVENT nested b ) )
				sh -c 'exec sh -c "\$EVENT execed c"'
				setsid sh -c '(read x <fifo; $EVENT orphan d; echo >done) & exit'
				echo >fifo
				read x <done
				exec $EVENT self e`
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir = t.TempDir()
			for _, f := range []string{"fifo", "done"} {
				if err := syscall.Mkfifo(filepath.Join(cmd.Dir, f), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Env = append(os.Environ(), tracetest.Quick, "EVENT="+os.Args[0], tracetest.HelperVar+"=event", "PTRACE_STREAM="+info.Path)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := s.Adopt(cmd.Process.Pid); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			var names []string
			self := 0
			for _, g := range drain(t, s) {
				names = append(names, g.name+" "+g.data)
				if g.name == "self" {
					self = g.pid
				}
			}
			want := []string{"direct a", "nested b", "execed c", "orphan d", "self e"}
			if inherit == posixtrace.InheritNone {
				want = []string{"self e"}
			}
			if fmt.Sprint(names) != fmt.Sprint(want) {
				t.Errorf("have %q, want %q", names, want)
			}
			if self != cmd.Process.Pid {
				t.Errorf("the process after exec is %d, want %d", self, cmd.Process.Pid)
			}
		})
	}
}

// The death of a controller shuts its stream down: the next process that looks completes the
// log, with every recorded event (SHU-06).
func TestControllerKilled(t *testing.T) {
	tg := tracetest.Start(t, "target")
	tg.Line()
	log := filepath.Join(t.TempDir(), "killed.trace")
	c := tracetest.Start(t, "controller", strconv.Itoa(tg.PID), log, "killed")
	if l := c.Line(); l != "ready" {
		t.Fatal(l)
	}
	for i := range 100 {
		tg.Say(fmt.Sprintf("work %d", i))
	}
	if s, err := posixtrace.Attach("killed"); err != nil {
		t.Fatal(err)
	} else {
		s.Close()
	}
	c.Cmd.Process.Kill()
	c.Cmd.Wait()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	buf := make([]byte, 100)
	n, last := 0, posixtrace.EventInfo{}
	for {
		ev, size, err := l.Next(buf)
		if err != nil {
			break
		}
		if ev.UnixNano < last.UnixNano {
			t.Errorf("time runs backwards: %v, then %v", last, ev)
		}
		last = ev
		if ev.ID.User() {
			if string(buf[:size]) != strconv.Itoa(n) || ev.PID != tg.PID {
				t.Fatalf("event %d is %q of %d", n, buf[:size], ev.PID)
			}
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d events in the log, want 100", n)
	}
	if _, err := posixtrace.Attach("killed"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("Attach to a stream whose owner died = %v, want ENOENT", err)
	}
	tg.Say("work afterwards")
}

// A stream without log that is handed over to its target stays readable after it.
func TestHandover(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, posixtrace.Attr{Name: "handed"})
	if err := s.Handover(c.PID); err != nil {
		t.Fatal(err)
	}
	c.Say("last words")
	c.In.Close()
	c.Cmd.Wait()
	equal(t, drain(t, s), got{"last", "words", c.PID})
	list, err := posixtrace.List()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range list {
		if i.Name == "handed" {
			found = true
			if !i.Stale || i.PID != c.PID {
				t.Errorf("List says %+v", i)
			}
		}
	}
	if !found {
		t.Error("List does not know the stream")
	}
}

// A blocked reader wakes up for an event of another process, gives up when its
// context ends, and fails when the stream is shut down (GET-19 to GET-21).
func TestBlockedReader(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, posixtrace.Attr{})
	type result struct {
		ev  posixtrace.EventInfo
		err error
	}
	next := func(ctx context.Context) chan result {
		ch := make(chan result, 1)
		go func() {
			ev, _, err := s.Next(ctx, make([]byte, 100))
			ch <- result{ev, err}
		}()
		return ch
	}
	// START is there already.
	if r := <-next(context.Background()); r.err != nil || r.ev.ID != posixtrace.EventStart {
		t.Fatalf("Next = %+v, %v", r.ev, r.err)
	}
	ch := next(context.Background())
	c.Say("wake up")
	if r := <-ch; r.err != nil || r.ev.PID != c.PID {
		t.Fatalf("Next = %+v, %v", r.ev, r.err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ch = next(ctx)
	cancel()
	if r := <-ch; !errors.Is(r.err, syscall.EINTR) {
		t.Errorf("Next with a cancelled context = %v, want EINTR", r.err)
	}
	if _, _, err := s.TimedNext(time.Now().Add(10*time.Millisecond), nil); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("TimedNext = %v, want ETIMEDOUT", err)
	}
	ch = next(context.Background())
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if r := <-ch; !errors.Is(r.err, syscall.EINVAL) {
		t.Errorf("Next on a stream that is shut down = %v, want EINVAL", r.err)
	}
}

// Two analyzers that take turns report each event once, in order, also when one
// finds that the other has taken some of a chunk (GET-17, GET-18).
func TestAnalyzersTakeTurns(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, posixtrace.Attr{StreamSize: 256 << 10, MaxDataSize: new(64)})
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	other, err := posixtrace.Attach(info.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const events = 3000 // several chunks
	c.Say(fmt.Sprint(events, "*turn"))
	readers := []*posixtrace.Stream{s, other}
	last := int64(0)
	for i := range events + 1 { // and START
		ev, _, err := readers[i/100%2].TryNext(nil)
		if err != nil {
			t.Fatal(err)
		}
		if ev.UnixNano < last {
			t.Fatalf("event %d of %d is older than the one before", i, events)
		}
		last = ev.UnixNano
	}
	for _, r := range readers {
		if ev, _, err := r.TryNext(nil); err != posixtrace.ErrUnavailable {
			t.Errorf("TryNext = %+v, %v, want nothing", ev, err)
		}
	}
}

// The event that RESUME announces is reported next, also when another analyzer comes
// first, and also when what is in the stream was overwritten since (FUL-17).
func TestAnnouncedEvent(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	s := running(t, c.PID, posixtrace.Attr{StreamSize: 1, MaxDataSize: new(64), StreamFullPolicy: posixtrace.PolicyLoop})
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	other, err := posixtrace.Attach(info.Path)
	if err != nil {
		t.Fatal(err)
	}
	c.Say("20000*lost")
	resumed := posixtrace.EventInfo{}
	for resumed.ID != posixtrace.EventResume {
		if resumed, _, err = other.TryNext(nil); err != nil {
			t.Fatal(err)
		}
	}
	other.Close()
	c.Say("20000*lost again")
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil || !rec.ID.User() || rec.UnixNano != resumed.UnixNano {
		t.Errorf("after RESUME %+v the stream has %+v, %v", resumed, rec, err)
	}
	ev, _, err := s.TryNext(nil)
	if err != nil || !ev.ID.User() || ev.UnixNano != resumed.UnixNano {
		t.Errorf("after RESUME %+v comes %+v, %v", resumed, ev, err)
	}
	if ev, _, err := s.TryNext(nil); err != nil || ev.ID != posixtrace.EventOverflow {
		t.Errorf("then comes %+v, %v, want OVERFLOW", ev, err)
	}
}
