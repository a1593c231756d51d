package script_test

import (
	"bufio"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// attached is a process of testdata/attached.c, whose threads check all that they do.
type attached struct {
	*exec.Cmd
	t      *testing.T
	traces string
	input  io.WriteCloser
	out    *bufio.Reader
}

// compile compiles a C program of testdata. It returns the program and an empty directory for traces,
// which the caller reaps.
func compile(t *testing.T, name string) (program, traces string) {
	t.Helper()
	tracetest.NeedProgram(t, "cc")
	dir := t.TempDir()
	program, traces = filepath.Join(dir, name), filepath.Join(dir, "traces")
	if out, err := exec.Command("cc", "-O1", "-pthread", "-o", program, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	return program, traces
}

func startAttached(t *testing.T) *attached {
	t.Helper()
	program, traces := compile(t, "attached")
	a := &attached{Cmd: exec.Command(program), t: t, traces: traces}
	var err error
	if a.input, err = a.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Process.Kill()
		a.Wait()
		reap(t, "PTRACE_DIR="+a.traces)
	})
	a.out = bufio.NewReader(out)
	if line, err := a.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	return a
}

// run starts ptrace-run -p with arguments.
func (a *attached) run(args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := exec.Command("ptrace-run", append([]string{"-p", strconv.Itoa(a.Process.Pid), "--dump=never"}, args...)...)
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+a.traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	return cmd
}

// tracer returns the tracer of the process, or 0.
func (a *attached) tracer() int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(a.Process.Pid) + "/status")
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nTracerPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		a.t.Fatalf("status has no tracer: %s", status)
	}
	return n
}

// harmless ends the process and checks its own account. Each thread has worked, and the outcomes
// were those of an untraced run, except of the parts in but. It returns how many were wrong.
func (a *attached) harmless(but ...string) (wrong map[string]int) {
	a.t.Helper()
	a.input.Close()
	end := time.AfterFunc(60*time.Second, func() { a.Process.Kill() })
	defer end.Stop()
	wrong = map[string]int{}
	for {
		line, err := a.out.ReadString('\n')
		if err != nil {
			break
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 4 && f[2] == "wrong":
			wrong[f[0]], _ = strconv.Atoi(f[3])
			if f[1] == "0" || f[3] != "0" && !slices.Contains(but, f[0]) {
				a.t.Errorf("the process has counted: %s", line)
			}
			a.t.Logf("%s", strings.TrimSuffix(line, "\n"))
		case !slices.Contains(but, strings.TrimSuffix(f[0], ":")):
			a.t.Errorf("the process reports %s", line)
		}
	}
	if err := a.Wait(); err != nil || len(wrong) != 8 {
		a.t.Errorf("the process ended with %v and the account %v", err, wrong)
	}
	return wrong
}

var attachedEvents = []string{"syscall", "proc,signal", "syscall.openat", "syscall,proc,signal", "signal", "files", "files,proc"}

// A process that ptrace-run attaches to and detaches from again and again notices nothing: calls in
// progress go on, no signal is lost or repeated, and children report what they reported before.
func TestAttachHarmless(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	a := startAttached(t)
	rounds := tracetest.Scale(20, 1000, 1000)
	for i := range rounds {
		args := []string{"-e", attachedEvents[i%len(attachedEvents)], "-t", strconv.Itoa(5+rand.IntN(30)) + "ms"}
		if i%4 == 3 {
			args = append(args, "-i", "no")
		}
		if i%5 == 4 {
			args = append(args, "-o", filepath.Join(a.traces, "x.trace"))
		}
		if err := a.run(args...).Wait(); err != nil {
			t.Fatalf("round %d: ptrace-run %q: %v", i, args, err)
		}
		if n := a.tracer(); n != 0 {
			t.Fatalf("round %d: process %d still traces", i, n)
		}
	}
	t.Logf("%d rounds", rounds)
	// The tracer makes the kernel restart epoll_wait(2), except in rare moments.
	wrong := a.harmless("epoll")
	if runtime.GOARCH == "amd64" && wrong["epoll"] > rounds/4 {
		t.Errorf("epoll_wait(2) has failed %d times in %d rounds", wrong["epoll"], rounds)
	}
}

// A tracer that is killed at any moment leaves the process running, with every signal.
func TestAttachTracerKilled(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	a := startAttached(t)
	kills := tracetest.Scale(10, 200, 200)
	for i := range kills {
		run := a.run("-e", attachedEvents[i%len(attachedEvents)])
		tracer := 0
		tracetest.Wait(t, "the tracer attaches", func() bool { tracer = a.tracer(); return tracer != 0 })
		time.Sleep(time.Duration(rand.IntN(int(8 * time.Millisecond))))
		if err := unix.Kill(tracer, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		run.Wait()
		if code := run.ProcessState.ExitCode(); code != 125 {
			t.Errorf("kill %d: ptrace-run ends with status %d, want 125", i, code)
		}
		tracetest.Wait(t, "the kernel detaches", func() bool { return a.tracer() == 0 })
	}
	t.Logf("%d kills", kills)
	// A kill between the interruption of a thread and its stop can make epoll_wait(2) fail.
	a.harmless("epoll")
}
