package script_test

import (
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

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// rules say which of a program's calls vary from run to run and are not compared. Without
// rules, every call of every thread is compared, in order and with its result.
type rules struct {
	// drop has calls, or prefixes of them, whose number or position varies.
	drop []string
	// anyOrder has threads whose calls vary in order and number, or that may be missing.
	anyOrder map[string][]string
	// anyResult has calls whose result varies.
	anyResult []string
	// text has more calls whose arguments both write alike.
	text []string
	// perProgram is for programs with a scheduler of their own, which decides which thread
	// makes a call, and with which descriptor. Only these calls are compared, of all
	// processes that run the same program, without their order and descriptors.
	perProgram []string
}

var (
	// The order in which the children end varies.
	anyChild = rules{anyResult: []string{"wait4"}}
	// The name of a temporary file is random, and the program may try several.
	anyName = rules{drop: []string{"getrandom"}}
	// make(1) handles the ends of its children when they come, and passes a token for each.
	// The first child that runs has make's standard input, the others a broken one.
	anyJob = rules{anyResult: []string{"wait4"}, anyOrder: map[string][]string{"0": {"wait4", "pselect6", "read", "write"}}, drop: []string{"dup2(5, 0)"}}
	// Threads that wait for each other make calls only if they have to wait, and the C
	// library's allocator makes an arena for a thread only if the others are in use. The first
	// thread does not wait for the last steps of the others, which its exit may cut short.
	anyThread = rules{drop: []string{"exit", "rt_sigprocmask", "futex", "sched_yield", "mmap", "munmap", "mprotect", "madvise", "brk"}}
	// A Go program runs many goroutines on few threads, which come and go with garbage
	// collection and blocking calls. Compare its calls on files and sockets, and the programs
	// it starts. With the race detector it links the C library, whose allocator counts the
	// processors when threads contend.
	anyGoroutine = rules{
		drop: []string{`openat(AT_FDCWD, "/sys/devices/system/cpu/online",`},
		perProgram: []string{"execve", "openat", "mkdirat", "unlinkat", "linkat", "renameat", "chdir", "readlinkat", "statfs", "fsync", "ftruncate", "exit_group",
			"socket", "bind", "listen", "setsockopt", "getsockname", "shutdown"},
		anyResult: []string{"openat", "socket"},
	}
)

// ptrace-run records the same calls of a program as strace(1), with the same results, and in
// the same order in each thread.
func TestTraceLikeStrace(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "strace")
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	for _, tt := range []struct {
		name string
		rules
		argv []string
	}{
		{"nothing", rules{}, []string{"true"}},
		{"long listing", rules{}, []string{"ls", "-l", "/"}},
		{"awk", rules{}, []string{"awk", "{ print NR, $0 }", "text"}},
		{"tar", rules{}, []string{"tar", "-cf", "/dev/null", "text", "Makefile"}},
		{"find", rules{}, []string{"find", "/", "-maxdepth", "1", "-name", "text"}},
		{"bash", rules{}, []string{"bash", "--norc", "-c", "for i in 1 2 3; do [ -e text ] && echo $i; done >out; rm out"}},
		{"signals", rules{}, sh("trap 'echo usr1' USR1; kill -USR1 $$; kill -TERM $$")},
		{"subshells", rules{}, sh("(exit 3); (cd /; pwd); x=$(cat text); echo $x")},
		{"pipes", anyChild, sh("sort -r text | head -n 2 | wc -l; cat nosuch | cat; :")},
		{"make -j", anyJob, []string{"make", "-s", "-j4"}},
		{"git", anyName, sh("git init -q r && cd r && cp -p ../text . && git add text && git commit -q -m one && git log; cd ..; rm -rf r")},
		{"1000 forks", rules{}, sh("i=0; while [ $i -lt 1000 ]; do (exit 3); i=$((i+1)); done")},
		{"python3", rules{}, []string{"python3", "-I", "-S", "script.py"}},
		{"threaded server", anyThread, []string{"python3", "-I", "-S", "server.py"}},
		{"goroutines", anyGoroutine, []string{"trace-server"}},
		{"go build", anyGoroutine, []string{"go", "build", "-o", "hello", "hello.go"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracetest.NeedProgram(t, tt.argv[0])
			dir, env, argv := straceWork(t, tt.argv)
			traces := filepath.Join(t.TempDir(), "traces")
			if err := os.Mkdir(traces, 0o700); err != nil {
				t.Fatal(err)
			}
			if argv[0] == "go" { // fill its caches
				traceCommand(t, dir, traces, env, argv...)
				os.Remove(filepath.Join(dir, "hello"))
			}
			want := tt.threads(t, straceCalls(t, dir, traces, env, argv))
			os.Remove(filepath.Join(dir, "hello"))
			got := tt.threads(t, ourCalls(t, dir, traces, env, argv))
			compareCalls(t, got, want)
		})
	}
}

// straceWork makes a working directory, and returns the environment and the command to run
// there.
func straceWork(t *testing.T, argv []string) (dir string, env, run []string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"Makefile":  "all: a b c d\na b c d:\n\t@cat Makefile | wc -l\n",
		"text":      "one\ntwo\nthree\n",
		"hello.go":  "package main\n\nfunc main() { println(\"hello\") }\n",
		"script.py": pythonScript,
		"server.py": pythonServer,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// git(1) reads files again that have the time stamp of its index.
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	os.Chtimes(filepath.Join(dir, "text"), old, old)
	run = slices.Clone(argv)
	switch argv[0] {
	case "python3":
		// The program in PATH may be a script of a version manager.
		out, err := exec.Command("python3", "-I", "-S", "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			t.Fatal(err)
		}
		run[0] = strings.TrimSpace(string(out))
	case "go":
		env = append(env, "GOFLAGS=-p=1", "GOMAXPROCS=1", "GOTOOLCHAIN=local", "GO111MODULE=off", "GOTELEMETRY=off")
	case "sh":
		env = append(env, "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
			"GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main")
		for _, who := range []string{"AUTHOR", "COMMITTER"} {
			env = append(env, "GIT_"+who+"_NAME=A", "GIT_"+who+"_EMAIL=a@example.org", "GIT_"+who+"_DATE=2026-11-20T10:12:00Z")
		}
	}
	return dir, env, run
}

const pythonScript = `
import json, subprocess
with open("text") as f:
    lines = f.read().split()
with open("copy.json", "w") as f:
    json.dump(lines, f)
print(json.load(open("copy.json")), subprocess.run(["cat", "nosuch"]).returncode)
`

// pythonServer answers eight connections, each on a thread of its own. Its clients are threads
// too.
const pythonServer = `
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve(c):
    with c:
        while b := c.recv(4096):
            c.sendall(b)
def client(c):
    with c:
        c.connect(listener.getsockname())
        c.sendall(b"hello")
        c.shutdown(socket.SHUT_WR)
        c.recv(5, socket.MSG_WAITALL)
for _ in range(8):
    # Not by the thread: it and accept(2) might get each other's descriptor.
    a = threading.Thread(target=client, args=(socket.socket(),))
    a.start()
    c, _ = listener.accept()
    b = threading.Thread(target=serve, args=(c,))
    b.start()
    a.join(); b.join()
`

// addresses are calls that return an address, which varies.
var addresses = []string{"mmap", "brk", "mremap", "shmat"}

// numbers are calls that return the id of a process or thread, or nothing.
var numbers = append([]string{"wait4", "getpid", "gettid", "getppid", "getpgrp", "set_tid_address", "setsid", "getpgid", "getsid"}, births...)

// written are the calls whose arguments ptrace-dump shows as strace(1) does.
var written = []string{
	"open", "openat", "access", "faccessat2", "close", "lseek", "dup", "dup2", "pipe", "pipe2", "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir",
	"rename", "link", "chdir", "getcwd", "exit_group", "listen", "shutdown", "kill", "readlink", "umask", "getuid", "geteuid", "alarm",
}

var (
	flags  = regexp.MustCompile(`\w+(\|\w+)+`) // in any order
	number = regexp.MustCompile(`\b\d+\b`)
	first  = regexp.MustCompile(`^\d+\b`)
	// Names that programs generate, and addresses.
	random = regexp.MustCompile(`tmp_obj_\w+|\bt\w{6}\b|go-build\d+|go-link-\d+|cc\w{6}\.|\b0x[0-9a-f]+`)
)

// line formats a call so that it is the same line in every run.
func (r *rules) line(c seenCall, f *family) string {
	text := c.name
	if slices.Contains(written, c.name) || slices.Contains(r.text, c.name) {
		args := random.ReplaceAllString(c.args, "#")
		args = flags.ReplaceAllStringFunc(args, func(s string) string {
			return strings.Join(slices.Sorted(strings.SplitSeq(s, "|")), "|")
		})
		switch {
		case r.perProgram != nil:
			args = first.ReplaceAllString(args, "#")
		case c.name == "kill":
			args = number.ReplaceAllStringFunc(args, func(s string) string {
				n, _ := strconv.Atoi(s)
				if name, ok := f.thread[n]; ok {
					return name
				}
				return s
			})
		}
		text += "(" + args + ")"
	}
	switch {
	case !c.returned:
		return text + " does not return"
	case c.errno != "":
		return text + " " + c.errno
	case slices.Contains(r.anyResult, c.name), slices.Contains(addresses, c.name):
		return text
	case slices.Contains(numbers, c.name):
		if name, ok := f.thread[int(c.value)]; ok {
			return text + " = thread " + name
		}
		if c.value > 0 {
			return text + " = another"
		}
	}
	return text + " = " + strconv.FormatInt(c.value, 10)
}

// threads returns the calls of each thread, by its name in the family.
func (r *rules) threads(t *testing.T, calls []seenCall) map[string][]string {
	t.Helper()
	f := newFamily(t, calls)
	threads := map[string][]string{}
	if r.perProgram == nil {
		for _, c := range calls {
			name, line := f.thread[c.tid], r.line(c, &f)
			if !beginsWithAny(line, r.drop) && !beginsWithAny(line, r.anyOrder[name]) {
				threads[name] = append(threads[name], line)
			}
		}
		for name, list := range threads {
			list = withoutInterruption(list)
			if _, ok := r.anyOrder[name]; ok {
				slices.Sort(list)
				list = slices.Compact(list)
			}
			threads[name] = list
		}
		return threads
	}
	program := map[int]string{} // of a process
	for _, c := range calls {
		p := f.process[c.tid]
		if line := r.line(c, &f); slices.Contains(r.perProgram, c.name) && !beginsWithAny(line, r.drop) {
			threads[program[p]] = append(threads[program[p]], line)
		}
		if c.name == "execve" && c.returned && c.errno == "" {
			program[p], _, _ = strings.Cut(c.args, ",")
		}
	}
	for _, list := range threads {
		slices.Sort(list)
	}
	return threads
}

func beginsWithAny(line string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(begin string) bool { return strings.HasPrefix(line+" ", begin+" ") })
}

// withoutInterruption drops the calls that depend on the arrival of a signal: a call that it
// interrupted and the kernel restarted, and the return from the handler.
func withoutInterruption(list []string) []string {
	return slices.DeleteFunc(list, func(line string) bool {
		name, _, _ := strings.Cut(line, " ")
		return name == "rt_sigreturn" || strings.Contains(line, " ERESTART") || name == "restart_syscall"
	})
}

func compareCalls(t *testing.T, got, want map[string][]string) {
	t.Helper()
	n := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n += len(want[name])
		if _, ok := got[name]; !ok {
			t.Errorf("thread %s is missing: %q", name, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		g, w := got[name], want[name]
		if w == nil {
			t.Errorf("strace has no thread %s: %q", name, g)
			continue
		}
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				t.Errorf("thread %s, call %d of %d: %q\nstrace has, of %d: %q", name, i, len(g), g[min(i, len(g)):min(i+3, len(g))], len(w), w[min(i, len(w)):min(i+3, len(w))])
				break
			}
		}
	}
	if n == 0 {
		t.Error("strace reports no calls")
	}
	t.Logf("%d calls of %d threads", n, len(want))
}
