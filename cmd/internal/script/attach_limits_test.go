package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// buildRun builds ptrace-run as it is shipped. The program of the tests links the libraries of all
// commands, some of which need descriptors before main.
func buildRun(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ptrace-run")
	cmd := exec.Command("go", "build", "-o", path, "../../ptrace-run")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// limited runs ptrace-run -p with a limit of the shell, and returns its status and its messages.
func limited(t *testing.T, run, traces, limit string, args ...string) (status int, said string) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", limit + ` && exec "$@"`, "sh", run}, args...)...)
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.Run()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// With few descriptors ptrace-run -p attaches, or says in a line that it cannot, and the process is
// unharmed. The runtime never ends it with a traceback.
func TestAttachWithoutDescriptors(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "steps")
	defer reap(t, "PTRACE_DIR="+traces)
	run := buildRun(t)
	s := stepped{argv: []string{program, "threads"}, waits: []string{"read"}}
	p := s.start(t)
	attached, refused := 0, 0
	for files := 3; files < 32; files++ {
		status, said := limited(t, run, traces, "ulimit -n "+strconv.Itoa(files),
			"-p", strconv.Itoa(p.Process.Pid), "-e", "syscall", "-t", "1ms", "-o", filepath.Join(traces, "few.trace"))
		switch {
		case strings.Contains(said, "goroutine") || strings.Contains(said, "runtime:"):
			t.Errorf("with %d descriptors ptrace-run says %s", files, said)
		case status == 0:
			attached++
		case status == 125 && strings.HasPrefix(said, "ptrace-run: ") && strings.Count(said, "ptrace-run: ") == 1:
			refused++
		case status == 127 || said == "":
			// The dynamic loader or the shell could not start it.
		default:
			t.Errorf("with %d descriptors ptrace-run ends with status %d and says %q", files, status, said)
		}
		tracetest.Wait(t, "the process is not traced", func() bool { return !p.traced() })
	}
	t.Logf("%d attached, %d refused", attached, refused)
	if attached == 0 || refused == 0 {
		t.Errorf("%d attached and %d refused", attached, refused)
	}
	p.unharmed("g")
}

// Whatever memory a tracer may have, the process that it attaches to is unharmed. Below some limit the
// runtime of a Go program cannot start.
func TestAttachWithoutMemory(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "steps")
	defer reap(t, "PTRACE_DIR="+traces)
	run := buildRun(t)
	s := stepped{argv: []string{program, "threads"}, waits: []string{"read"}}
	p := s.start(t)
	for kib := 300_000; kib < 1_100_000; kib += 40_000 {
		status, said := limited(t, run, traces, "ulimit -v "+strconv.Itoa(kib), "-p", strconv.Itoa(p.Process.Pid), "-e", "syscall", "-t", "1ms", "--dump=never")
		if status != 0 && status != 125 && !strings.Contains(said, "runtime") {
			t.Errorf("with %d KiB ptrace-run ends with status %d and says %q", kib, status, said)
		}
		tracetest.Wait(t, "the process is not traced", func() bool { return !p.traced() })
	}
	p.unharmed("g")
}

// unharmed makes the process work and ends it. Its calls have had the outcomes that they should have.
func (p *steppedProcess) unharmed(order string) {
	p.t.Helper()
	if _, err := p.in.Write([]byte(order)); err != nil {
		p.t.Fatal(err)
	}
	p.expect("done\n")
	p.in.Close()
	p.Wait()
	if code := p.ProcessState.ExitCode(); code != 7 {
		p.t.Errorf("the process ends with %v, want status 7", p.ProcessState)
	}
}

// Several tracers that attach at the same time to a process with threads are refused, or one has it.
// The process is unharmed.
func TestAttachAtOnce(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "steps")
	defer reap(t, "PTRACE_DIR="+traces)
	run := buildRun(t)
	s := stepped{argv: []string{program, "threads"}, waits: []string{"read"}}
	p := s.start(t)
	attached, refused := 0, 0
	for range tracetest.Scale(5, 20, 50) {
		const tracers = 3
		type end struct {
			status int
			said   string
		}
		ends := make(chan end, tracers)
		for range tracers {
			go func() {
				status, said := limited(t, run, traces, ":", "-p", strconv.Itoa(p.Process.Pid), "-e", "syscall", "-t", "50ms", "--dump=never")
				ends <- end{status, said}
			}()
		}
		for range tracers {
			switch e := <-ends; {
			case e.status == 0:
				attached++
			case e.status == 125 && strings.Contains(e.said, "traces it already"):
				refused++
			default:
				t.Errorf("ptrace-run ends with status %d and says %q", e.status, e.said)
			}
		}
		tracetest.Wait(t, "the process is not traced", func() bool { return !p.traced() })
	}
	t.Logf("%d attached, %d refused", attached, refused)
	p.unharmed("g")
}
