package script_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// stepped is a process that waits at the moment of attaching and of detaching, and makes the same
// calls between.
type stepped struct {
	name     string
	argv     []string // "steps" is the program of testdata/steps.c
	order    string   // makes it work
	waits    []string // the calls that its last thread may wait in
	stops    bool     // it is stopped at both moments
	forks    bool     // it has children
	tolerant bool     // under strace(1), a call that it waits in fails
}

const steppedShell = `read l; i=0; while [ $i -lt 20 ]; do (exit 3); /bin/true; echo $i >/dev/null; i=$((i+1)); done; echo done; read l; exit 7`

// ptrace-run -p records the same calls of a process that runs already as strace -f -p does, from the
// moment of attaching to that of detaching, whatever its threads wait in then. Neither changes an
// outcome.
func TestAttachLikeStrace(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "strace")
	program, traces := compile(t, "steps")
	defer reap(t, "PTRACE_DIR="+traces)
	read := []string{"read"}
	for _, s := range []stepped{
		{name: "one thread", argv: []string{"steps", "read"}, order: "g", waits: read},
		{name: "threads", argv: []string{"steps", "threads"}, order: "g", waits: read},
		{name: "futex", argv: []string{"steps", "futex"}, order: "g", waits: []string{"futex"}},
		{name: "epoll_wait", argv: []string{"steps", "epoll"}, order: "g", waits: []string{"epoll_wait", "epoll_pwait"}, tolerant: true},
		{name: "poll", argv: []string{"steps", "poll"}, order: "g", waits: []string{"poll", "ppoll", "restart_syscall"}},
		{name: "nanosleep", argv: []string{"steps", "nanosleep"}, order: "g", waits: []string{"clock_nanosleep", "restart_syscall"}},
		{name: "stopped", argv: []string{"steps", "read"}, order: "g", waits: read, stops: true},
		{name: "execution", argv: []string{"steps", "exec"}, order: "g", waits: read},
		{name: "shell that forks", argv: []string{"sh", "-c", steppedShell}, order: "g\n", waits: read, forks: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.argv[0] == "steps" {
				s.argv[0] = program
			}
			file := filepath.Join(traces, "strace.out")
			os.Remove(file)
			want := s.record(t, traces, []string{"strace", "-f", "-qq", "-o", file}, s.tolerant, func(tids []string) bool {
				return hasLines(file, tids)
			}, func() bool {
				b, err := os.ReadFile(file)
				return err == nil && bytes.Contains(b, []byte("--- SIGSTOP {"))
			}, func() []seenCall { return allCalls(t, file) })
			log := filepath.Join(traces, "x.trace")
			const old = "not a log"
			if err := os.WriteFile(log, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			strict := s.tolerant && runtime.GOARCH != "amd64"
			got := s.record(t, traces, []string{"ptrace-run", "-e", "syscall", "-o", log}, strict, func([]string) bool {
				b, err := os.ReadFile(log) // it is replaced when the tracer has attached
				return err == nil && string(b) != old
			}, func() bool { return true }, func() []seenCall { return straceForm(t, traces, log) })
			compareCalls(t, got, want)
		})
	}
}

// straceForm returns the calls of a complete log from its dump in strace's form.
func straceForm(t *testing.T, traces, log string) []seenCall {
	t.Helper()
	if lost := traceCommand(t, traces, traces, nil, "ptrace-dump", "--status", "--json", log); !lostNone.MatchString(lost.String()) {
		t.Errorf("events were lost: %s", lost)
	}
	file := log + ".strace"
	text := traceCommand(t, traces, traces, nil, "ptrace-dump", "--strace", "-e", "syscall.*", log)
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return allCalls(t, file)
}

// allCalls returns the calls in a file in strace's form, also those that had not returned.
func allCalls(t *testing.T, file string) []seenCall {
	t.Helper()
	calls, unfinished := parseStraceOpen(t, file)
	return append(calls, unfinished...)
}

// hasLines reports whether strace has written a line, or the beginning of one, for each thread.
func hasLines(file string, tids []string) bool {
	b, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(tids, func(tid string) bool { return !strings.Contains("\n"+string(b), "\n"+tid+" ") })
}

// record starts the process, attaches a tracer to it when it waits, makes it work, detaches when it
// waits again, and ends it. It returns the lines of the calls that calls reads, by thread. An interrupted
// strace discards a SIGSTOP that it has not seen: sawStop reports that the tracer may be interrupted.
func (s *stepped) record(t *testing.T, traces string, command []string, mayFail bool, attached func(tids []string) bool, sawStop func() bool, calls func() []seenCall) map[string][]string {
	t.Helper()
	p := s.start(t)
	wait := func(what string, done func() bool) {
		t.Helper()
		tracetest.Wait(t, what, done)
	}
	wait("the process waits", p.waiting)
	if s.stops {
		p.Process.Signal(unix.SIGSTOP)
		wait("the process stops", func() bool { return p.state() == "T" })
	}
	threads, tids := p.threads()
	before := p.switches()
	run := exec.Command(command[0], slices.Concat(command[1:], []string{"-p", strconv.Itoa(p.Process.Pid)})...)
	run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Process.Kill()
	wait(command[0]+" attaches", func() bool { return attached(tids) && (s.stops || p.interrupted(before)) })
	if _, err := io.WriteString(p.in, s.order); err != nil {
		t.Fatal(err)
	}
	if s.stops {
		p.Process.Signal(unix.SIGCONT)
	}
	p.expect("done\n")
	wait("the process waits again", p.waiting)
	if s.stops {
		p.Process.Signal(unix.SIGSTOP)
		wait("the process stops again", func() bool { return strings.ContainsAny(p.state(), "Tt") && sawStop() })
	}
	run.Process.Signal(unix.SIGINT)
	run.Wait()
	wait(command[0]+" detaches", func() bool { return !p.traced() })
	if s.stops {
		wait("the process is stopped, as before", func() bool { return p.state() == "T" })
		p.Process.Signal(unix.SIGCONT)
	}
	p.in.Close()
	p.Wait()
	if code := p.ProcessState.ExitCode(); code != 7 && !mayFail {
		t.Errorf("under %s the process ends with %v, want status 7", command[0], p.ProcessState)
	}
	return s.lines(threads, calls())
}

// steppedProcess is a running process of a stepped.
type steppedProcess struct {
	*exec.Cmd
	*stepped
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *stepped) start(t *testing.T) *steppedProcess {
	t.Helper()
	p := &steppedProcess{Cmd: exec.Command(s.argv[0], s.argv[1:]...), stepped: s, t: t}
	p.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	p.Stderr = os.Stderr
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	if s.argv[0] != "sh" {
		p.expect("ready\n")
	}
	return p
}

func (p *steppedProcess) expect(want string) {
	p.t.Helper()
	hangs := time.AfterFunc(time.Minute, func() { p.Process.Kill() })
	defer hangs.Stop()
	if line, err := p.out.ReadString('\n'); line != want {
		p.t.Fatalf("the process says %q, %v; want %q", line, err, want)
	}
}

// threads returns the names of the threads, by their ids, and the ids.
func (p *steppedProcess) threads() (names map[int]string, tids []string) {
	p.t.Helper()
	names = map[int]string{}
	for _, dir := range p.tasks() {
		comm, err := os.ReadFile(dir + "/comm")
		tid := filepath.Base(dir)
		n, _ := strconv.Atoi(tid)
		if err != nil {
			p.t.Fatal(err)
		}
		names[n] = strings.TrimSpace(string(comm))
		tids = append(tids, tid)
	}
	return names, tids
}

func (p *steppedProcess) tasks() []string {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.Process.Pid))
	return list
}

var switchesLine = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\t(\d+)$`)

// switches returns how often each thread has given up its processor.
func (p *steppedProcess) switches() map[string]int {
	counts := map[string]int{}
	for _, dir := range p.tasks() {
		b, _ := os.ReadFile(dir + "/status")
		if m := switchesLine.FindSubmatch(b); m != nil {
			counts[dir], _ = strconv.Atoi(string(m[1]))
		}
	}
	return counts
}

// interrupted reports whether a tracer has interrupted each thread and lets it go on: the thread has
// stopped for that, and once more at the entry of its call, and waits in the call again. A call that
// returns before the first stop is not recorded.
func (p *steppedProcess) interrupted(before map[string]int) bool {
	for dir, n := range p.switches() {
		if n < before[dir]+3 {
			return false
		}
	}
	return p.waiting()
}

// waiting reports whether every thread waits: the first one in read(2), the others in their call. A
// thread whose tracer has yet to see it enter that call is stopped at its entry, and does not wait.
func (p *steppedProcess) waiting() bool {
	for _, dir := range p.tasks() {
		b, _ := os.ReadFile(dir + "/syscall")
		number, _, _ := strings.Cut(string(b), " ")
		n, err := strconv.Atoi(number)
		first := filepath.Base(dir) == strconv.Itoa(p.Process.Pid)
		if err != nil || first && n != unix.SYS_READ || !first && !p.waitsIn(n) {
			return false
		}
		if state(dir) != "S" {
			return false
		}
	}
	return true
}

func (p *steppedProcess) waitsIn(nr int) bool {
	return slices.ContainsFunc(p.waits, func(name string) bool { return slices.Contains(tracer.CallsOf(name), nr) })
}

var stateLine, tracerLine = regexp.MustCompile(`(?m)^State:\t(\w)`), regexp.MustCompile(`(?m)^TracerPid:\t(\d+)$`)

func (p *steppedProcess) state() string { return state(fmt.Sprintf("/proc/%d", p.Process.Pid)) }

// state returns the state of the process or thread whose directory in /proc that is.
func state(dir string) string {
	b, _ := os.ReadFile(dir + "/status")
	if m := stateLine.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return ""
}

func (p *steppedProcess) traced() bool {
	for _, dir := range p.tasks() {
		b, _ := os.ReadFile(dir + "/status")
		if m := tracerLine.FindSubmatch(b); m != nil && string(m[1]) != "0" {
			return true
		}
	}
	return false
}

// lines returns a line for each call, by the name of the thread. A child has the name of its parent
// and a number.
func (s *stepped) lines(threads map[int]string, calls []seenCall) map[string][]string {
	children := map[int]int{}
	for more := true; more; { // a child's calls may precede the return of the parent's
		more = false
		for _, c := range calls {
			if name := threads[c.tid]; slices.Contains(births, c.name) && c.value > 0 && name != "" && threads[int(c.value)] == "" {
				children[c.tid]++
				threads[int(c.value)], more = fmt.Sprintf("%s.%d", name, children[c.tid]), true
			}
		}
	}
	f := family{thread: threads}
	r := rules{text: []string{"read", "write", "pread64", "fcntl"}, anyResult: []string{"rt_sigreturn"}}
	lists := map[string][]string{}
	for _, c := range calls {
		if strings.Contains(c.args, "resuming interrupted ") { // strace does not know which call that was
			c.name = s.waits[0]
		}
		if s.stops && c.errno == "ERESTARTSYS" { // at the end, before or after the tracer is interrupted
			c.returned = false
		}
		line := r.line(c, &f)
		if !c.returned && !strings.HasPrefix(c.name, "exit") {
			line = c.name + " does not return" // strace shows some of the arguments
		}
		lists[threads[c.tid]] = append(lists[threads[c.tid]], line)
	}
	if s.forks { // signals come at any time
		for name, list := range lists {
			lists[name] = withoutInterruption(list)
		}
	}
	return lists
}
