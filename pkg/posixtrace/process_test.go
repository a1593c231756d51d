package posixtrace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What stands here needs several real processes: this test binary, started
// again with one of these parts to play.

func init() {
	// target: registers nothing and knows of no stream. For each line of
	// standard input it passes a trace point of that name and answers. A number
	// before it says how many times.
	helpers["target"] = func(args []string) {
		fmt.Println(os.Getpid())
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			line, times := in.Text(), 1
			if n, rest, ok := strings.Cut(line, "*"); ok {
				times, _ = strconv.Atoi(n)
				line = rest
			}
			name, data, _ := strings.Cut(line, " ")
			id, err := OpenEventID(name)
			if err != nil {
				fmt.Println("error", err)
				continue
			}
			for range times {
				Event(id, []byte(data))
			}
			fmt.Println("done")
		}
	}
	// event: passes one trace point.
	helpers["event"] = func(args []string) {
		id, err := OpenEventID(args[0])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		Event(id, []byte(strings.Join(args[1:], " ")))
	}
	// controller: makes a stream with a log on process args[0], starts it, and
	// waits to be killed.
	helpers["controller"] = func(args []string) {
		pid, _ := strconv.Atoi(args[0])
		f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			var s *Stream
			if s, err = CreateWithLog(pid, &Attr{Name: args[2], LogFullPolicy: PolicyAppend, StreamFullPolicy: PolicyUntilFull}, f); err == nil {
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

// child is a running helper.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
	pid int
}

func start(t *testing.T, helper string, args ...string) *child {
	t.Helper()
	c, err := startAs(t, nil, helper, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startAs is start with attributes, for want of which it may fail.
func startAs(t *testing.T, attr *syscall.SysProcAttr, helper string, args ...string) (*child, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), helperVar+"="+helper, quick)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	r.Close()
	c := &child{t: t, cmd: cmd, in: w, out: bufio.NewReader(out), pid: cmd.Process.Pid}
	t.Cleanup(func() {
		w.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return c, nil
}

// line reads a line of the child's output.
func (c *child) line() string {
	c.t.Helper()
	l, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("child says %q, %v", l, err)
	}
	return strings.TrimSuffix(l, "\n")
}

// say sends a line and waits for the answer.
func (c *child) say(line string) {
	c.t.Helper()
	fmt.Fprintln(c.in, line)
	if l := c.line(); l != "done" {
		c.t.Fatalf("child says %q", l)
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
func drain(t *testing.T, s *Stream) (list []got) {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		ev, n, err := s.TryNext(buf)
		if err == ErrUnavailable {
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

func running(t *testing.T, pid int, attr Attr) *Stream {
	t.Helper()
	s, err := Create(pid, &attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.isClosed() {
			s.Shutdown()
		}
	})
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
	c := start(t, "target")
	if l := c.line(); l != strconv.Itoa(c.pid) {
		t.Fatal(l)
	}
	c.say("before nobody")
	s := running(t, c.pid, Attr{})
	c.say("first one")
	c.say("before again")
	equal(t, drain(t, s), got{"first", "one", c.pid}, got{"before", "again", c.pid})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	c.say("first stopped")
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c.say("first two")
	equal(t, drain(t, s), got{"first", "two", c.pid})
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	c.say("first gone")
}

// Two streams on one process do not disturb each other (CRE-13).
func TestTwoStreamsTwoFilters(t *testing.T) {
	c := start(t, "target")
	c.line()
	a, b := running(t, c.pid, Attr{}), running(t, c.pid, Attr{})
	for s, name := range map[*Stream]string{a: "x", b: "y"} {
		id, err := s.EventID(name)
		if err != nil {
			t.Fatal(err)
		}
		var set EventSet
		set.Add(id)
		if err := s.SetFilter(set, FilterSet); err != nil {
			t.Fatal(err)
		}
	}
	c.say("x 1")
	c.say("y 2")
	c.say("z 3")
	equal(t, drain(t, a), got{"y", "2", c.pid}, got{"z", "3", c.pid})
	equal(t, drain(t, b), got{"x", "1", c.pid}, got{"z", "3", c.pid})
	ida, _ := a.EventID("x")
	idb, _ := b.EventID("x")
	if ida != idb {
		t.Errorf("x is %d in one stream and %d in the other", ida, idb)
	}
}

// Patterns of a filter decide about names that are registered later (FIL-15).
func TestFilterPattern(t *testing.T) {
	c := start(t, "target")
	c.line()
	s := running(t, c.pid, Attr{})
	err := s.FilterOps([]FilterOp{
		{How: FilterAdd, Patterns: []string{"noise.*"}},
		{How: FilterSub, Patterns: []string{"noise.bad"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.say("noise.one 1")
	c.say("noise.bad 2")
	c.say("signal 3")
	equal(t, drain(t, s), got{"noise.bad", "2", c.pid}, got{"signal", "3", c.pid})
}

// Children are traced when the stream is inherited: through shells and exec,
// also when the process between is gone, and not when the stream is not inherited.
func TestInheritance(t *testing.T) {
	for _, inherit := range []Inheritance{InheritChildren, InheritNone} {
		t.Run(inherit.String(), func(t *testing.T) {
			s, err := CreateForChild(&Attr{Inheritance: inherit}, nil)
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
			cmd.Env = append(os.Environ(), quick, "EVENT="+os.Args[0], helperVar+"=event", "PTRACE_STREAM="+info.Path)
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
			if inherit == InheritNone {
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

// The death of a controller shuts its stream down: whoever comes next completes
// the log, with every event that was recorded (SHU-06).
func TestControllerKilled(t *testing.T) {
	tg := start(t, "target")
	tg.line()
	log := filepath.Join(t.TempDir(), "killed.trace")
	c := start(t, "controller", strconv.Itoa(tg.pid), log, "killed")
	if l := c.line(); l != "ready" {
		t.Fatal(l)
	}
	for i := range 100 {
		tg.say(fmt.Sprintf("work %d", i))
	}
	if s, err := Attach("killed"); err != nil {
		t.Fatal(err)
	} else {
		s.Close()
	}
	c.cmd.Process.Kill()
	c.cmd.Wait()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	buf := make([]byte, 100)
	n, last := 0, EventInfo{}
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
			if string(buf[:size]) != strconv.Itoa(n) || ev.PID != tg.pid {
				t.Fatalf("event %d is %q of %d", n, buf[:size], ev.PID)
			}
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d events in the log, want 100", n)
	}
	if _, err := Attach("killed"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("Attach to a stream whose owner died = %v, want ENOENT", err)
	}
	tg.say("work afterwards")
}

// A stream without log that is handed over to its target stays readable after it.
func TestHandover(t *testing.T) {
	c := start(t, "target")
	c.line()
	s := running(t, c.pid, Attr{Name: "handed"})
	if err := s.Handover(c.pid); err != nil {
		t.Fatal(err)
	}
	c.say("last words")
	c.in.Close()
	c.cmd.Wait()
	equal(t, drain(t, s), got{"last", "words", c.pid})
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range list {
		if i.Name == "handed" {
			found = true
			if !i.Stale || i.PID != c.pid {
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
	c := start(t, "target")
	c.line()
	s := running(t, c.pid, Attr{})
	type result struct {
		ev  EventInfo
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
	if r := <-next(context.Background()); r.err != nil || r.ev.ID != EventStart {
		t.Fatalf("Next = %+v, %v", r.ev, r.err)
	}
	ch := next(context.Background())
	c.say("wake up")
	if r := <-ch; r.err != nil || r.ev.PID != c.pid {
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
	c := start(t, "target")
	c.line()
	s := running(t, c.pid, Attr{StreamSize: 256 << 10, MaxDataSize: 64})
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Attach(info.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const events = 3000 // several chunks
	c.say(fmt.Sprint(events, "*turn"))
	readers := []*Stream{s, other}
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
		if ev, _, err := r.TryNext(nil); err != ErrUnavailable {
			t.Errorf("TryNext = %+v, %v, want nothing", ev, err)
		}
	}
}

// The event that RESUME announces is reported next, also when another analyzer comes
// first, and also when what is in the stream was overwritten since (FUL-17).
func TestAnnouncedEvent(t *testing.T) {
	c := start(t, "target")
	c.line()
	s := running(t, c.pid, Attr{StreamSize: 1, MaxDataSize: 64, StreamFullPolicy: PolicyLoop})
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Attach(info.Path)
	if err != nil {
		t.Fatal(err)
	}
	c.say("20000*lost")
	resumed := EventInfo{}
	for resumed.ID != EventResume {
		if resumed, _, err = other.TryNext(nil); err != nil {
			t.Fatal(err)
		}
	}
	other.Close()
	c.say("20000*lost again")
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
	if ev, _, err := s.TryNext(nil); err != nil || ev.ID != EventOverflow {
		t.Errorf("then comes %+v, %v, want OVERFLOW", ev, err)
	}
}

// Writers that come and go do not crowd out those that come later.
func TestDeadWritersMakeRoom(t *testing.T) {
	s := running(t, 0, Attr{Inheritance: InheritChildren})
	for range s.c.mem.Places + 2 {
		c := start(t, "target")
		c.line()
		c.say("here today")
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
	c := start(t, "target")
	c.line()
	c.say("gone tomorrow")
	if s.c.mem.Crowded() {
		t.Error("the places of dead writers are not free")
	}
	if n := len(drain(t, s)); n != s.c.mem.Places+3 {
		t.Errorf("%d events, want %d", n, s.c.mem.Places+3)
	}
}
