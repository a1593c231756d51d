package summary

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// hungThread is a thread of a hang, and how the command line of its process begins.
type hungThread struct {
	pid, tid int
	args     string
	posixtrace.HangData
}

// hungLog returns the summary of a log of a command that was looked at 100 s after its start and killed then.
func hungLog(o *Options, cause posixtrace.HangCause, end time.Duration, threads []hungThread) string {
	a := New(o)
	s := a.NewSource(func(id posixtrace.EventID) string { return "" })
	add := func(at time.Duration, id posixtrace.EventID, pid, tid int, data []byte) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: tid, UnixNano: int64(at)}, Data: data}})
	}
	add(0, posixtrace.EventProcExec, 1, 1, (&posixtrace.ExecData{Path: "/bin/sh", Argv: []string{"sh", "ci.sh"}}).Append(nil))
	for _, t := range threads {
		t.Args, t.Cause, t.Report = strings.Fields(t.args), cause, 1
		if t.tid == 0 {
			t.tid = t.pid
		}
		add(100*time.Second, posixtrace.EventHangThread, t.pid, t.tid, t.Append(nil))
	}
	if cause == posixtrace.HangTimeout {
		add(100*time.Second, posixtrace.EventProcTimeout, 1, 1, (&posixtrace.TimeoutData{Limit: 100 * time.Second, Signal: 15}).Append(nil))
	}
	add(100*time.Second+end, posixtrace.EventProcExit, 1, 1, (&posixtrace.ExitData{Signal: 15}).Append(nil))
	a.Finish()
	return string(Append(nil, a, 0, o))
}

// The first line says why the command did not end: the thread of a deadlock, or the one to which the chain of
// those that wait for each other leads.
func TestHungLine(t *testing.T) {
	type data = posixtrace.HangData
	shell := hungThread{1, 0, "sh ci.sh", data{Call: "wait4(-1, 0x7f, 0, NULL)", Since: 90 * time.Second, For: "its child cat (pid 2)", ForPID: 2}}
	for _, tt := range []struct {
		threads []hungThread
		want    string
	}{
		{nil, ""},
		{[]hungThread{shell, {2, 0, "cat x", data{Call: "read(0<pipe:[7]>, 0x7f, 65536)", Since: 91 * time.Second, Exact: true, For: "the writer of pipe:[7], sleep 1d (pid 3)", ForPID: 3}},
			{3, 0, "sleep 1d", data{Kind: posixtrace.HangSleeps, Since: 99 * time.Second}}},
			"; then: cat x waited 1m31s in read(0<pipe:[7]>) for the writer of pipe:[7], sleep 1d (pid 3)"},
		{[]hungThread{shell, {2, 0, "sleep 1d", data{Kind: posixtrace.HangSleeps, Call: "clock_nanosleep(CLOCK_REALTIME, 0)", Since: 9 * time.Second, For: "1 d left"}}},
			"; then: sleep 1d slept about 9.00s in clock_nanosleep(CLOCK_REALTIME), 1 d left"},
		{[]hungThread{{1, 0, "sh ci.sh", data{Kind: posixtrace.HangSleeps, Since: 9 * time.Second}}}, ""},
		{[]hungThread{shell, {2, 0, "a", data{Kind: posixtrace.HangBusy, Since: -1}}}, "; then: a used a processor"},
		{[]hungThread{{1, 0, "sh ci.sh", data{Call: "wait4(-1)", ForPID: 3}}, {3, 0, "sleep 1d", data{Kind: posixtrace.HangSleeps}},
			{2, 0, "cat x", data{Call: "read(0)", Since: -1, For: "sleep 1d (pid 3)", ForPID: 3}}}, "; then: cat x waited in read(0) for sleep 1d (pid 3)"},
		// A thread that waits for a pipe of a busy process waits for that one.
		{[]hungThread{{1, 0, "sh ci.sh", data{Call: "read(3)", ForPID: 2}}, {2, 0, "a", data{Kind: posixtrace.HangBusy}}}, "; then: a used a processor"},
		// What could not be seen.
		{[]hungThread{{1, 0, "sh ci.sh", data{Kind: posixtrace.HangRuns, Since: -1, Note: "the look was given up after 0.5 s"}}}, "; then: the look was given up after 0.5 s"},
		{[]hungThread{shell, {2, 0, "a", data{Kind: posixtrace.HangRuns, Since: -1, Note: "no"}}}, "; then: a: no"},
		{[]hungThread{{1, 0, "sh ci.sh", data{Wait: "do_wait", Since: -1, Note: "no"}}}, "; then: the command waited in do_wait (no)"},
		{[]hungThread{shell, {2, 0, "a", data{Kind: posixtrace.HangBusy, Since: -1, Note: "in 9 of 10 looks in /a"}}}, "; then: a used a processor (in 9 of 10 looks in /a)"},
		// Two threads of a process: the one that leads on, or that computes.
		{[]hungThread{shell, {2, 0, "a", data{Call: "futex(0x1, 2)", Since: -1}}, {2, 4, "a", data{Call: "flock(3</l>, LOCK_EX)", Since: 0, For: "b (pid 5)", ForPID: 5}},
			{5, 0, "b", data{Call: "read(0</dev/tty>)", Since: -1, For: "input from the terminal"}}},
			"; then: a waited about 0s in flock(3</l>, LOCK_EX) for b (pid 5)"},
		{[]hungThread{shell, {2, 0, "a", data{Call: "futex(0x1, 2)", Since: -1}}, {2, 4, "a", data{Kind: posixtrace.HangBusy}}}, "; then: a used a processor"},
		{[]hungThread{shell, {2, 0, "a", data{Call: "flock(3)", Since: -1, For: "b (pid 3)", ForPID: 3, Stuck: true, Cycle: true}},
			{3, 0, "b", data{Call: "flock(4)", ForPID: 2, Stuck: true, Cycle: true}}}, "; then: deadlock: a waited in flock(3) for b (pid 3), and that for itself"},
		// Of a deadlock, a wait for the end of a child says less than what the child waits for.
		{[]hungThread{{1, 0, "sh ci.sh", data{Call: "wait4(2)", Since: -1, For: "the end of a (pid 2)", ForPID: 2, Stuck: true, Cycle: true}},
			{2, 0, "a", data{Call: "flock(3)", Since: -1, For: "sh (pid 1)", ForPID: 1, Stuck: true, Cycle: true}}}, "; then: deadlock: a waited in flock(3) for sh (pid 1), and that for itself"},
		{[]hungThread{{1, 0, "sh ci.sh", data{Call: "read(0)", Since: -1, Stuck: true}}}, "; then: the command waited in read(0), which nothing visible can end"},
		{[]hungThread{shell, {2, 0, "a", data{Kind: posixtrace.HangStopped, For: "the signal CONT"}}}, "; then: a was stopped, and waited for the signal CONT"},
		{[]hungThread{shell, {2, 0, "a", data{Kind: posixtrace.HangZombie, For: "its parent to wait for it: sh (pid 1)", ForPID: 1}}}, "; then: a had ended, and waited for its parent to wait for it: sh (pid 1)"},
		{[]hungThread{shell, {2, 0, "a", data{Wait: "do_x", Since: -1}}}, "; then: a waited in do_x"},
		{[]hungThread{shell, {2, 0, "a", data{Call: `openat(AT_FDCWD, "a,(b", 0)`, Since: -1}}}, `; then: a waited in openat(AT_FDCWD, "a,(b")`},
		{[]hungThread{shell, {2, 0, "a", data{Call: `read("a,(b", 0)`, Since: -1}}}, `; then: a waited in read("a,(b")`},
		// A ring that is no deadlock, as the one of a thread that has an end by itself, is followed once.
		{[]hungThread{shell, {2, 0, "a", data{Call: "read(1)", Since: -1, ForPID: 3}}, {3, 0, "b", data{Call: "read(2)", Since: -1, ForPID: 2}}}, "; then: b waited in read(2)"},
	} {
		first, _, _ := strings.Cut(hungLog(&Options{}, posixtrace.HangTimeout, time.Second, tt.threads), "\n")
		if want := "sh ci.sh: timed out after 100 s" + tt.want; first != want {
			t.Errorf("%+v:\n%s, want\n%s", tt.threads, first, want)
		}
	}
}

// The line is in each form, and only where it explains the end: the command ended by the time limit, or soon
// after the signal.
func TestHungForms(t *testing.T) {
	cat := []hungThread{{1, 0, "sh ci.sh", posixtrace.HangData{Call: "read(0<pipe:[7]>, 0)", Since: -1, For: "nothing"}}}
	for _, tt := range []struct {
		form  Form
		cause posixtrace.HangCause
		end   time.Duration
		want  string
	}{
		{Text, posixtrace.HangTimeout, time.Second, `^sh ci\.sh: timed out after 100 s; then: the command waited in read\(0<pipe:\[7\]>\) for nothing\nended:`},
		{Text, posixtrace.HangSignal, time.Second, `^sh ci\.sh: killed by TERM after 1m41s, [^;]*; then: the command waited in read`},
		{Text, posixtrace.HangSignal, 100 * time.Second, `^sh ci\.sh: killed by TERM after 3m20s, [^;]*\n[^w]*\n`},
		{Text, posixtrace.HangAsked, time.Second, `^sh ci\.sh: killed by TERM after 1m41s, [^;]*\n`},
		{Text, posixtrace.HangIdle, time.Second, `^sh ci\.sh: killed by TERM [^;]*\nidle at 1m40s: sh ci\.sh waited in read\(0<pipe:\[7\]>\) for nothing\n`},
		{Markdown, posixtrace.HangTimeout, time.Second, `timed out after 100 s; then: <code>the command waited in read&#40;0&#60;pipe`},
		{JSON, posixtrace.HangTimeout, time.Second, `"hung":"the command waited in read\(0<pipe:\[7\]>\) for nothing"`},
		{JSON, posixtrace.HangIdle, time.Second, `"hung":""`},
	} {
		if got := hungLog(&Options{Form: tt.form}, tt.cause, tt.end, cat); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("form %d, %v, %v:\n%s\nlacks %s", tt.form, tt.cause, tt.end, got, tt.want)
		}
	}
}

// Where it is known what ran, that a look was given up is a line of its own, and no table.
func TestHungNotSeen(t *testing.T) {
	for wait, want := range map[string]string{"": "the look was given up", "do_wait": "the command waited in do_wait (the look was given up)"} {
		o := &Options{}
		a := New(o)
		s := a.NewSource(func(posixtrace.EventID) string { return "" })
		at := int64(0)
		add := func(id posixtrace.EventID, pid int, data []byte) {
			at += 1e9
			s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: data}})
		}
		add(posixtrace.EventProcExec, 1, (&posixtrace.ExecData{Path: "/bin/x", Argv: []string{"x"}}).Append(nil))
		add(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: 2}).Append(nil))
		add(posixtrace.EventProcExec, 2, (&posixtrace.ExecData{Path: "/bin/y", Argv: []string{"y"}}).Append(nil))
		add(posixtrace.EventProcTimeout, 1, (&posixtrace.TimeoutData{Limit: 3 * time.Second, Signal: 15}).Append(nil))
		add(posixtrace.EventHangThread, 1, (&posixtrace.HangData{Args: []string{"x"}, Wait: wait, Since: -1, Note: "the look was given up", Report: 1}).Append(nil))
		add(posixtrace.EventProcExit, 1, (&posixtrace.ExitData{Signal: 15}).Append(nil))
		a.Finish()
		got := string(Append(nil, a, 0, o))
		if !strings.HasPrefix(got, "x: timed out after 3 s; running then: y, in x\nwhat it waited for: "+want+"\nended: ") || strings.Contains(got, "waits for") {
			t.Errorf("%s", got)
		}
	}
}

// A table has the threads, those of a deadlock first.
func TestHungTable(t *testing.T) {
	got := hungLog(&Options{}, posixtrace.HangTimeout, time.Second, []hungThread{
		{1, 0, "sh ci.sh", posixtrace.HangData{Call: "wait4(-1, 0)", Since: time.Second, For: "its child a (pid 2)", ForPID: 2}},
		{2, 0, "a", posixtrace.HangData{Call: "flock(3)", Since: 2 * time.Second, For: "b (pid 3)", ForPID: 3, Stuck: true, Cycle: true, Note: "no"}},
		{2, 9, "a", posixtrace.HangData{Kind: posixtrace.HangBusy, Since: -1}},
	})
	want := regexp.MustCompile(`(?m)^thread +pid +tid +does +time +in +waits for *
a +2 +- +deadlock +2\.00s +flock\(3\) +b \(pid 3\); no *
a +2 +9 +busy +- *
sh ci\.sh +1 +- +waits +1\.00s +wait4\(-1\) +its child a \(pid 2\) *
`)
	if !want.MatchString(got) {
		t.Errorf("got\n%s", got)
	}
}

// Texts of a thread are harmless in each form, and bounded.
func TestHungHostile(t *testing.T) {
	for _, form := range []Form{Text, JSON, Markdown} {
		for _, text := range append(hostile.Texts(), strings.Repeat("x", 1<<15-1)) {
			d := posixtrace.HangData{Program: text, Call: text, Wait: text, For: text, Note: text, Stuck: true}
			got := hungLog(&Options{Form: form}, posixtrace.HangTimeout, 0, []hungThread{{1, 0, "sh", d}, {2, 0, "", d}})
			if at, found := hostile.Harmful(got, "\n"); found {
				t.Errorf("form %d, %q: %q", form, text, got[max(at-20, 0):at+1])
			}
			if len(got) > 20_000 {
				t.Errorf("form %d: %d bytes", form, len(got))
			}
		}
	}
}

// Where the script is that started a process is known from its steps, also if the script has ended, or a
// subshell of it started the process.
func TestHungPlace(t *testing.T) {
	for events, want := range map[string]string{
		"b1 f1:2 e1 x2 h1:2":         "y waited in read(0) for pid 2, started by ./a b.sh:12",
		"b1 f1:2 e1 x2 .1 h3:2":      "y waited in read(0) for pid 2, started by ./a b.sh:12",
		"b1 f1:4 f4:2 e1 x2 h1:2":    "y waited in read(0) for pid 2, started by ./a b.sh:12", // in a subshell
		"b1 f1:2 x2 f2:5 x5 e1 h2:5": "y, started by ./a b.sh:12, waited in read(0) for pid 5",
		"f1:2 b1 x2 h1:2":            "y waited in read(0) for pid 2",
		"b1 e1 f1:2 x2 h1:2":         "y waited in read(0) for pid 2",
		"b1 f1:2 x2 h1:0":            "y waited in read(0) for pid 0",
	} {
		o := &Options{}
		a := New(o)
		const begin, end = 33, 34
		s := a.NewSource(func(id posixtrace.EventID) string {
			return map[posixtrace.EventID]string{begin: "step.begin", end: "step.end"}[id]
		})
		at := int64(0)
		add := func(id posixtrace.EventID, pid int, span uint64, data []byte) {
			at += 1e9
			s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at, Span: span}, Data: data}})
		}
		add(posixtrace.EventProcExec, 1, 0, (&posixtrace.ExecData{Path: "/bin/sh", Argv: []string{"sh", "ci.sh"}}).Append(nil))
		for _, e := range strings.Fields(events) {
			var pid, other int
			fmt.Sscanf(e[1:], "%d:%d", &pid, &other)
			switch e[0] {
			case 'b':
				add(begin, pid, 7, []byte("./a b.sh:12 x y"))
			case 'e':
				add(end, pid, 7, []byte("0"))
			case 'f':
				add(posixtrace.EventProcFork, pid, 0, (&posixtrace.ForkData{Child: other}).Append(nil))
			case 'x':
				add(posixtrace.EventProcExec, pid, 0, (&posixtrace.ExecData{Path: "/bin/x", Argv: []string{"x"}}).Append(nil))
			case '.':
				add(posixtrace.EventProcExit, pid, 0, (&posixtrace.ExitData{}).Append(nil))
			case 'h':
				d := posixtrace.HangData{Args: []string{"y"}, Call: "read(0)", Since: -1, For: "pid " + strconv.Itoa(other), ForPID: other, Report: 1}
				add(posixtrace.EventHangThread, pid, 0, d.Append(nil))
			}
		}
		add(posixtrace.EventProcTimeout, 1, 0, (&posixtrace.TimeoutData{Limit: time.Second, Signal: 15}).Append(nil))
		a.Finish()
		first, _, _ := strings.Cut(string(Append(nil, a, 0, o)), "\n")
		first, _, _ = strings.Cut(first, "; running then")
		if want = "sh ci.sh: timed out after 1 s; then: " + want; first != want {
			t.Errorf("%s: %s, want %s", events, first, want)
		}
	}
}
