package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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

// The same programs, traced by strace(1) and by us: the same calls with the same
// results, in the same order in each thread.
func TestTraceLikeStrace(t *testing.T) {
	needProgram(t, "strace")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Makefile": "all: a b c d\na b c d:\n\t@cat Makefile | wc -l\n",
		"text":     "one\ntwo\nthree\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		// The order, or number, of calls is chance's where threads and processes
		// wait for each other: then each kind of call has to be there, no more.
		chance bool
		argv   []string
	}{
		{"nothing", false, []string{"true"}},
		{"long listing", false, []string{"ls", "-l", "/"}},
		{"pipes", true, []string{"sh", "-c", "sort -r text | head -n 2 | wc -l; cat nosuch; :"}},
		{"signals", false, []string{"sh", "-c", "trap 'echo usr1' USR1; kill -USR1 $$; kill -TERM $$"}},
		{"subshells", true, []string{"sh", "-c", "(exit 3); (cd /; pwd); x=$(cat text); echo $x"}},
		{"bash", false, []string{"bash", "--norc", "-c", "for i in 1 2 3; do [ -e text ] && echo $i; done >out; rm out"}},
		{"awk", false, []string{"awk", "{ print NR, $0 }", "text"}},
		{"tar", false, []string{"tar", "-cf", "/dev/null", "text", "Makefile"}},
		{"git", false, []string{"git", "--version"}},
		{"find", false, []string{"find", "/", "-maxdepth", "1", "-name", "text"}},
		{"make -j", true, []string{"make", "-s", "-j4"}},
		{"forks", false, []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do (exit 3); i=$((i+1)); done"}},
		{"threads", true, []string{"trace-server"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			needProgram(t, tt.argv[0])
			want := straceCalls(t, dir, tt.argv)
			got := ourCalls(t, dir, tt.argv)
			if tt.chance {
				want, got = kindsOf(want), kindsOf(got)
			}
			compareCalls(t, got, want)
		})
	}
}

// thread is the calls of one thread, each a name and a result.
type thread []string

// result returns what can be compared of a call: nothing where the result is an address,
// a process, or up to the moment.
func result(name, errno, value string) string {
	if errno != "" {
		return name + " " + errno
	}
	switch name {
	case "mmap", "brk", "mremap", "clone", "clone3", "fork", "vfork", "wait4", "set_tid_address", "getpid", "getppid", "gettid", "getpgrp",
		"rt_sigreturn", "arch_prctl", "exit", "exit_group", "execve", "getdents64":
		return name
	}
	return name + " " + value
}

func traceCommand(t *testing.T, dir string, argv ...string) *bytes.Buffer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "traces"), "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run() // the status is the program's
	if ctx.Err() != nil {
		t.Fatalf("%q does not end: %s", argv, errs.Bytes())
	}
	return &out
}

func ourCalls(t *testing.T, dir string, argv []string) []thread {
	t.Helper()
	log := filepath.Join(dir, "ours.trace")
	traceCommand(t, dir, append([]string{"ptrace-run", "-e", "syscall", "-o", log, "--"}, argv...)...)
	out := traceCommand(t, dir, "ptrace-dump", "--strict", "-j", "-e", "syscall.*", log)
	threads := map[int]thread{}
	for line := range bytes.Lines(out.Bytes()) {
		var e struct {
			TID      int
			Event    string
			Result   int64
			Returned bool
			Errno    string `json:"errno_name"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		value := "?"
		if e.Returned {
			value = fmt.Sprint(e.Result)
		}
		threads[e.TID] = append(threads[e.TID], result(strings.TrimPrefix(e.Event, "syscall."), e.Errno, value))
	}
	return sortedThreads(threads)
}

var (
	straceLine   = regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?(\w+)(?: resumed|\()`)
	straceResult = regexp.MustCompile(`= (0x[0-9a-f]+|-?\d+|\?)(?: (E[A-Z0-9_]+))?[^=]*$`)
)

func straceCalls(t *testing.T, dir string, argv []string) []thread {
	t.Helper()
	file := filepath.Join(dir, "strace.out")
	traceCommand(t, dir, append([]string{"strace", "-f", "-qq", "-e", "signal=none", "-o", file}, argv...)...)
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	threads, unfinished := map[string]thread{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		m := straceLine.FindStringSubmatch(line)
		if m == nil {
			continue // the end of a thread
		}
		if strings.HasSuffix(line, "<unfinished ...>") && !strings.Contains(line, "= ?") {
			unfinished[m[1]] = m[2]
			continue
		}
		delete(unfinished, m[1])
		errno, value := "", "?"
		if r := straceResult.FindStringSubmatch(line); r != nil {
			value, errno = r[1], r[2]
		}
		if n, err := strconv.ParseInt(value, 0, 64); err == nil {
			value = fmt.Sprint(n)
		}
		threads[m[1]] = append(threads[m[1]], result(m[2], errno, value))
	}
	for tid, name := range unfinished {
		threads[tid] = append(threads[tid], result(name, "", "?"))
	}
	return sortedThreads(threads)
}

// sortedThreads orders threads by what they do, since their numbers tell nothing.
func sortedThreads[K comparable](m map[K]thread) (list []thread) {
	for _, th := range m {
		// When a signal comes is chance.
		list = append(list, slices.DeleteFunc(th, func(c string) bool { return c == "rt_sigreturn" }))
	}
	slices.SortFunc(list, func(a, b thread) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	return list
}

// kindsOf makes one list of the names of all calls, without those that depend on
// who comes first.
func kindsOf(list []thread) []thread {
	var all thread
	for _, th := range list {
		for _, c := range th {
			name, _, _ := strings.Cut(c, " ")
			switch name {
			case "futex", "sched_yield", "nanosleep", "clock_nanosleep", "rt_sigreturn", "restart_syscall", "epoll_pwait", "tgkill", "getpid", "clone", "clone3",
				"madvise", "munmap", "mmap", "brk", "sched_getaffinity", "gettid", "rt_sigprocmask", "sigaltstack", "epoll_wait", "pselect6", "dup", "dup2", "timer_settime":
				continue
			}
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return []thread{slices.Compact(all)}
}

func compareCalls(t *testing.T, got, want []thread) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d threads, strace has %d", len(got), len(want))
	}
	n := 0
	for i := range min(len(got), len(want)) {
		n += len(want[i])
		for j := range max(len(got[i]), len(want[i])) {
			g, w := "nothing", "nothing"
			if j < len(got[i]) {
				g = got[i][j]
			}
			if j < len(want[i]) {
				w = want[i][j]
			}
			if g != w {
				t.Errorf("call %d of thread %d: %s, strace has %s", j, i, g, w)
				break
			}
		}
	}
	if n == 0 {
		t.Error("strace saw nothing")
	}
}
