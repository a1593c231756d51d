package script_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seenCall is a system call in the output of ptrace-dump or strace(1).
type seenCall struct {
	tid      int
	name     string
	args     string // as it writes them
	value    int64
	errno    string
	returned bool
}

// births are the calls that make a thread or a process and return its id.
var births = []string{"clone", "clone3", "fork", "vfork"}

// traceCommand runs a command, which may fail but must end.
func traceCommand(t *testing.T, dir, traces string, env []string, argv ...string) *bytes.Buffer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C"), env...)
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run() // ignore the status, which is the program's
	if ctx.Err() != nil {
		t.Fatalf("%q does not end: %s", argv, errs.Bytes())
	}
	return &out
}

// ourLine is TID syscall.NAME (ARGS) result=N errno=E duration=D. Without a result the call
// did not return, or was restarted.
var ourLine = regexp.MustCompile(`^(\d+) syscall\.(\w+) \((.*)\)(?: result=(0x[0-9a-f]+|-?\d+)(?: errno=(\w+))?| restarted=(\w+))? duration=[0-9.]+$`)

var lostNone = regexp.MustCompile(`"lost":0,"log_lost":0}`)

func ourCalls(t *testing.T, dir, traces string, env, argv []string) (calls []seenCall) {
	t.Helper()
	log := filepath.Join(traces, "x.trace")
	traceCommand(t, dir, traces, env, append([]string{"ptrace-run", "-e", "syscall", "-o", log, "--"}, argv...)...)
	if lost := traceCommand(t, dir, traces, nil, "ptrace-dump", "--status", "--json", log); !lostNone.MatchString(lost.String()) {
		t.Errorf("events were lost: %s", lost)
	}
	out := traceCommand(t, dir, traces, nil, "ptrace-dump", "--format=%i %n %d\n", "-e", "syscall.*", log)
	for line := range strings.Lines(out.String()) {
		m := ourLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("not a call: %s", line)
		}
		c := seenCall{name: m[2], args: m[3], errno: m[5] + m[6], returned: m[4]+m[6] != ""}
		c.tid, _ = strconv.Atoi(m[1])
		c.value, _ = strconv.ParseInt(m[4], 0, 64)
		calls = append(calls, c)
	}
	return calls
}

var (
	straceLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	straceRest   = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	straceResult = regexp.MustCompile(`^(.*?)\) += (0x[0-9a-f]+|-?\d+|\?)(?: (E[A-Z0-9_]+))?(?: \([^)]*\)|\s+/\*.*| <unavailable>)?(?: <[0-9.]+>)?$`)
)

func straceCalls(t *testing.T, dir, traces string, env, argv []string) []seenCall {
	t.Helper()
	file := filepath.Join(traces, "strace.out")
	traceCommand(t, dir, traces, env, append([]string{"strace", "-f", "-qq", "-e", "signal=none", "-o", file, "--"}, argv...)...)
	return parseStrace(t, file)
}

// liveCalls returns the calls that ptrace-run --live shows, which are in strace's form.
func liveCalls(t *testing.T, dir, traces string, env, argv []string) []seenCall {
	t.Helper()
	file := filepath.Join(traces, "live.out")
	traceCommand(t, dir, traces, env, append([]string{"ptrace-run", "-e", "syscall", "--live=" + file, "--"}, argv...)...)
	return parseStrace(t, file)
}

// parseStrace returns the calls in a file in strace's form.
func parseStrace(t *testing.T, file string) (calls []seenCall) {
	t.Helper()
	calls, _ = parseStraceOpen(t, file)
	return calls
}

// parseStraceOpen returns, after the others, the calls that have started and of which the file has no
// more.
func parseStraceOpen(t *testing.T, file string) (calls, unfinished []seenCall) {
	t.Helper()
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	open := map[int]seenCall{} // the first part of a call whose line strace has split
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		text := ""
		m := straceLine.FindStringSubmatch(line)
		if m != nil {
			text = m[3]
		} else if m = straceRest.FindStringSubmatch(line); m == nil {
			continue // the exit of a thread
		}
		c := seenCall{name: m[2]}
		c.tid, _ = strconv.Atoi(m[1])
		if text == "" {
			text = open[c.tid].args + m[3]
		}
		if begin, ok := strings.CutSuffix(text, " <unfinished ...>"); ok && !strings.HasSuffix(begin, ") = ?") {
			c.args = begin
			open[c.tid] = c
			continue
		}
		delete(open, c.tid)
		text = strings.TrimSuffix(text, " <unfinished ...>")
		if begin, ok := strings.CutSuffix(text, " <detached ...>"); ok {
			text = begin + ") = ?"
		}
		r := straceResult.FindStringSubmatch(text)
		if r == nil {
			t.Fatalf("not a call: %s", line)
		}
		c.args, c.errno, c.returned = strings.TrimSuffix(r[1], " <unfinished ...>"), r[3], r[2] != "?" || r[3] != ""
		c.value, _ = strconv.ParseInt(r[2], 0, 64)
		calls = append(calls, c)
	}
	return calls, slices.Collect(maps.Values(open))
}

// family is the tree of the threads that made some calls.
type family struct {
	// thread names each thread in a way that is the same in every run: "0" is the first
	// one, "0.2" the second one that it made.
	thread map[int]string
	// process has the first thread of each thread's process.
	process map[int]int
}

func newFamily(t *testing.T, calls []seenCall) family {
	t.Helper()
	if len(calls) == 0 {
		t.Fatal("no calls")
	}
	type birth struct {
		parent, nth int
		isThread    bool
	}
	// A child's calls may precede the return of its parent's call. And a process may end
	// while one of its threads makes another one: that call never returns.
	of, count := map[int]birth{}, map[int]int{}
	var unfinished []birth
	for _, c := range calls {
		if !slices.Contains(births, c.name) || c.errno != "" || c.returned && c.value <= 0 {
			continue
		}
		count[c.tid]++
		b := birth{c.tid, count[c.tid], strings.Contains(c.args, "CLONE_THREAD")}
		if c.returned {
			of[int(c.value)] = b
		} else if b.isThread {
			unfinished = append(unfinished, b)
		}
	}
	first := calls[0].tid
	f := family{map[int]string{first: "0"}, map[int]int{first: first}}
	var meet func(tid, depth int)
	meet = func(tid, depth int) {
		b, ok := of[tid]
		if !ok && f.thread[tid] == "" && len(unfinished) > 0 {
			b, ok, unfinished = unfinished[0], true, unfinished[1:]
		}
		if f.thread[tid] != "" || !ok || depth > 100 {
			return
		}
		if meet(b.parent, depth+1); f.thread[b.parent] == "" {
			return
		}
		f.thread[tid], f.process[tid] = fmt.Sprintf("%s.%d", f.thread[b.parent], b.nth), tid
		if b.isThread {
			f.process[tid] = f.process[b.parent]
		}
	}
	for _, c := range calls {
		if meet(c.tid, 0); f.thread[c.tid] == "" {
			t.Fatalf("thread %d has no parent; it has called %s(%s)", c.tid, c.name, c.args)
		}
	}
	return f
}
