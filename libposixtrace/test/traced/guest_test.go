package traced

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// inherited makes a stream that the children of the test process inherit.
func inherited(t testing.TB) *posixtrace.Stream {
	t.Helper()
	return create(t, 0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: 16 << 20, StreamFullPolicy: posixtrace.PolicyUntilFull})
}

// guest runs a command of testdata/guest.c and returns its output and the events of a stream that
// traces it.
func guest(t testing.TB, program, what string) (out []string, list []event) {
	t.Helper()
	s := inherited(t)
	cmd := command(t, program, what)
	cmd.Env = append(cmd.Env, "GUEST="+what) // musl passes constructors no arguments
	text, err := cmd.Output()
	out = strings.Fields(string(text))
	if err != nil || len(out) == 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	list = events(t, s)
	if what != "limited" {
		none(t, s)
	}
	return out, list
}

func guestProgram(t testing.TB) string { return ctest.C(t, "testdata/guest.c") }

// A trace point records wherever it stands: in threads, handlers that interrupt anything, constructors
// and destructors, children of all kinds, without descriptors. It leaves errno alone and is no
// cancellation point.
func TestTracePointAnywhere(t *testing.T) {
	program := guestProgram(t)
	for _, what := range []string{
		"threads", "handlers", "altstack", "forks", "clones", "vforks", "places", "closed", "cancellation", "storm",
	} {
		t.Run(what, func(t *testing.T) {
			tracetest.Only(t, what != "altstack" || !ctest.Sanitized(), "without sanitizers, whose frames are larger")
			out, list := guest(t, program, what)
			if n, err := strconv.Atoi(out[0]); err != nil || n != len(list) {
				t.Errorf("the program has recorded %s events, %d are in the stream", out, len(list))
			}
		})
	}
}

// What a siglongjmp out of a handler interrupts may be recorded or not; what comes after it is.
func TestJumpOutOfTracePoint(t *testing.T) {
	_, list := guest(t, guestProgram(t), "jumps")
	after, last := 0, -1
	for _, e := range list {
		if e.data == "after" {
			after++
		} else if e.name == "jumped" {
			if n := e.number(); n < last || n > last+1 {
				t.Fatalf("event %d after %d", n, last)
			}
			last = e.number()
		}
	}
	if after != 100 {
		t.Errorf("%d of 100 events after the last jump", after)
	}
}

// A child of fork is a process of its own, with its own pid and thread, and so is a grandchild. Each
// records its own events, in its own chunks.
func TestChildIsProcessOfItsOwn(t *testing.T) {
	_, list := guest(t, guestProgram(t), "forks")
	pids := map[int][]int{}
	for _, e := range list {
		if e.TID != e.PID {
			t.Errorf("event %d of process %d, thread %d", e.number(), e.PID, e.TID)
		}
		pids[e.PID] = append(pids[e.PID], e.number())
	}
	if len(pids) != 41 {
		t.Errorf("%d processes, want 41", len(pids))
	}
	for pid, numbers := range pids {
		if len(numbers) != 1 && len(numbers) != 2 && len(numbers) != 21 {
			t.Errorf("process %d: events %d", pid, numbers)
		}
	}
}

// A vfork child records as its parent.
func TestVforkChildRecordsAsParent(t *testing.T) {
	_, list := guest(t, guestProgram(t), "vforks")
	for _, e := range list {
		if e.PID != list[0].PID || e.TID != list[0].TID {
			t.Errorf("event of process %d, thread %d, not %d", e.PID, e.TID, list[0].PID)
		}
	}
}

// A handler that interrupts a trace point forks. Both processes go on with it: the parent's event is
// recorded, the child's ends harmlessly. A child that has not started to record it may record it, too, before
// its parent, which waits for it.
func TestForkInHandlerThatInterruptedTracePoint(t *testing.T) {
	out, list := guest(t, guestProgram(t), "fork_in_handler")
	children := map[int]int{}
	for _, e := range list {
		if e.data == "child" {
			children[e.PID]++
		}
	}
	for pid, n := range children {
		if n != 1 {
			t.Errorf("%d children have the pid %d", n, pid)
		}
	}
	parent, next := 0, 0
	for _, e := range list {
		if children[e.PID] > 0 {
			continue
		}
		if parent == 0 {
			parent = e.PID
		}
		if e.PID != parent || e.number() != next {
			t.Fatalf("event %d of process %d, want %d of %d", e.number(), e.PID, next, parent)
		}
		next++
	}
	want, err := strconv.Atoi(out[0])
	if err != nil || next+len(children) != want || len(children) != 100 {
		t.Errorf("%d events of the parent and %d of children, want %d, %v", next, len(children), want, err)
	}
}

// A process without descriptors is not harmed, and is traced when it can be.
func TestNoDescriptors(t *testing.T) {
	s := inherited(t)
	p := startCommand(t, command(t, guestProgram(t), "limited"))
	var list []event
	tracetest.Wait(t, "an event", func() bool {
		list = append(list, events(t, s)...)
		return len(list) > 0
	})
	p.in.Close()
	if l := p.line(); l != "1" {
		t.Errorf("the program says %q", l)
	}
	p.end()
	for _, e := range append(list, events(t, s)...) {
		if e.data != "something" {
			t.Errorf("%+v", e)
		}
	}
}

// A connected process makes no system call for its events, save to block signals while it takes a
// chunk.
func TestNoSystemCallOnceConnected(t *testing.T) {
	native(t)
	tracetest.NeedProgram(t, "strace")
	s := inherited(t)
	run := command(t, guestProgram(t), "quiet")
	cmd := exec.Command("strace", append([]string{"-f", "-o", "/dev/stderr"}, run.Args...)...)
	cmd.Env = run.Env
	var calls bytes.Buffer
	cmd.Stderr = &calls
	if out, err := cmd.Output(); err != nil {
		t.Logf("%v\n%s%s", err, out, &calls)
		tracetest.Need(t, false, "strace that may trace")
	}
	_, after, _ := strings.Cut(calls.String(), "\"connected\\n\"")
	between, _, found := strings.Cut(after, "write(1, \"done")
	if !found {
		t.Fatalf("%.2000s", calls.String())
	}
	masks := 0
	for _, line := range strings.Split(between, "\n")[1:] {
		switch {
		case strings.Contains(line, "rt_sigprocmask"):
			masks++
		case strings.Contains(line, "("):
			t.Errorf("system call %s", line)
		}
	}
	// A new chunk has the signals blocked.
	if masks > 20000/100 {
		t.Errorf("20000 events have changed the signal mask %d times", masks)
	}
	if n := len(events(t, s)); n != 20000 {
		t.Errorf("%d events", n)
	}
}
