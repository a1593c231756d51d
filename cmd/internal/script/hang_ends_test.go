package script_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// What looks at the threads of a command leave when others look, too, when ptrace-run is killed meanwhile, and
// when the command ends meanwhile.

// startHung starts a command under ptrace-run that prints a line and then waits.
func (h *crashes) startHung(script string, args ...string) (run *exec.Cmd, out *bufio.Reader, in *os.File) {
	h.t.Helper()
	run = h.command(append(append([]string{"ptrace-run"}, args...), "--", "sh", "-c", script)...)
	stdin, in, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	stdout, w, err := os.Pipe() // not StdoutPipe: Wait closes that
	if err != nil {
		h.t.Fatal(err)
	}
	run.Stdin, run.Stdout = stdin, w
	err = run.Start()
	stdin.Close()
	w.Close()
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { in.Close(); stdout.Close(); syscall.Kill(-run.Process.Pid, syscall.SIGKILL); run.Wait() })
	late := time.AfterFunc(time.Minute, func() { syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
	h.t.Cleanup(func() { late.Stop() })
	out = bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); line == "" {
		h.t.Fatal(err)
	}
	return run, out, in
}

// Looks at the same time at one tree find the same.
func TestHangTwice(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0 || os.Getenv("CI") != "", "ptrace(2) of other processes")
	h := newCrashes(t)
	run, _, _ := h.startHung(`trap "" TERM; exec 9>l; flock 9; echo; flock l true`, "-o", "x.trace")
	look := func() string {
		out, _ := h.command("ptrace-ctl", "hang", "-p", strconv.Itoa(run.Process.Pid)).CombinedOutput()
		return string(out)
	}
	h.wait("deadlock", func() bool { return strings.HasPrefix(look(), "deadlock: ") })
	var wg sync.WaitGroup
	var outs [4]string
	run.Process.Signal(syscall.SIGTERM) // and one of ptrace-run
	for i := range outs {
		wg.Go(func() { outs[i] = look() })
	}
	wg.Wait()
	for _, out := range outs {
		if strings.Count(out, "deadlock: ") != 3 || !strings.HasPrefix(out, "deadlock: flock l true (pid ") {
			t.Errorf("%s", out)
		}
	}
	h.wait("report", func() bool {
		out := h.output("ptrace-dump", "-e", "hang.thread", "x.trace")
		return strings.Count(out, " cycle=yes ") == 2 || strings.Contains(out, "given up")
	})
}

// A look that takes too long leaves in the log that it was given up, and the signal reaches the command. Here
// ptrace-run is stopped during the look.
func TestHangGivenUp(t *testing.T) {
	h := newCrashes(t)
	text := ""
	for try := 0; try < 10; try++ { // it may be stopped before the look, or after it
		run, _, _ := h.startHung("echo; read x", "-o", "x.trace")
		run.Process.Signal(syscall.SIGTERM)
		time.Sleep(20 * time.Millisecond)
		run.Process.Signal(syscall.SIGSTOP)
		time.Sleep(600 * time.Millisecond) // longer than a look may take
		run.Process.Signal(syscall.SIGCONT)
		run.Wait()
		if ws := run.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGTERM {
			t.Fatal(run.ProcessState)
		}
		text = h.output("ptrace-dump", "-s", "x.trace")
		first, _, _ := strings.Cut(text, "\n")
		if !regexp.MustCompile(`; then: .*the look was given up after 0\.[45] s`).MatchString(first) {
			continue
		}
		if why := h.output("ptrace-dump", "--why", "x.trace"); !regexp.MustCompile(`(?m)^waited: .*the look was given up after 0\.[45] s`).MatchString(why) {
			t.Errorf("%s", why)
		}
		return
	}
	t.Errorf("%s", text)
}

// The command of a ptrace-run that is killed during a look goes on. The next command completes the log.
func TestHangKilled(t *testing.T) {
	h := newCrashes(t)
	for n := range tracetest.Scale(6, 40, 200) {
		run, out, in := h.startHung(`trap "" TERM; echo; read x; echo "got $x"; read x`, "-o", "x.trace")
		run.Process.Signal(syscall.SIGTERM)
		time.Sleep(time.Duration(n) * 17 * time.Millisecond % (120 * time.Millisecond))
		run.Process.Kill()
		run.Wait()
		in.WriteString("it\n")
		if line, err := out.ReadString('\n'); line != "got it\n" {
			t.Fatalf("round %d: the command: %q, %v", n, line, err)
		}
		syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
		h.output("ptrace-ctl", "list")
		text := h.output("ptrace-dump", "x.trace")
		if !strings.Contains(text, "posix_trace_start") {
			t.Errorf("round %d: %s", n, text)
		}
		h.nothingLeft()
	}
}

// A signal to the whole process group ends the command before ptrace-run looks at it, or while it does. The run
// ends by it as the command does, and no thread that has ended is blamed.
func TestHangGroupSignal(t *testing.T) {
	h := newCrashes(t)
	for n := range tracetest.Scale(6, 40, 200) {
		run, _, _ := h.startHung("sleep 1000 | { echo; exec cat; }", "-o", "x.trace")
		syscall.Kill(-run.Process.Pid, syscall.SIGINT)
		run.Wait()
		if ws := run.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGINT {
			t.Fatalf("round %d: %v", n, run.ProcessState)
		}
		text := h.output("ptrace-dump", "-s", "x.trace")
		first, _, _ := strings.Cut(text, "\n")
		if !strings.Contains(first, ": killed by INT after ") || strings.Contains(text, "had ended") || strings.Contains(text, "the look failed") {
			t.Errorf("round %d: %s", n, text)
		}
		if list := h.output("ptrace-dump", "-e", "hang.thread", "x.trace"); strings.Contains(list, `"sh" argv=["sh","-c"`) && strings.Contains(list, "kind=zombie") {
			t.Errorf("round %d: %s", n, list)
		}
		if left, _ := filepath.Glob(h.traces() + "/[slt]-*"); len(left) > 0 {
			t.Errorf("round %d: %q is left", n, left)
		}
	}
}
