package script_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A process that executes programs while ptrace-run attaches to it and detaches does both: an
// execution waits for the tracer to take notice of the threads that end by it, and PTRACE_SEIZE waits
// for the execution.
func TestAttachWhileItExecutes(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "executes")
	defer reap(t, "PTRACE_DIR="+traces)
	for _, threads := range []int{0, 3, 12} {
		t.Run(strconv.Itoa(threads)+" threads", func(t *testing.T) {
			for range tracetest.Scale(2, 10, 30) {
				attachToExecuting(t, traces, program, threads)
			}
		})
	}
}

// attachToExecuting attaches to one process until it has ended.
func attachToExecuting(t *testing.T, traces, program string, threads int) {
	const status = 7 // of the process
	target := exec.Command(program, strconv.Itoa(threads), "300")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- target.Wait() }()
	defer target.Process.Kill()
	rounds := 0
	for {
		events := attachedEvents[rounds%len(attachedEvents)]
		var said bytes.Buffer
		run := exec.Command("ptrace-run", "-p", strconv.Itoa(target.Process.Pid), "-e", events, "-t", "20ms", "--dump=never")
		run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
		run.Stderr = &said
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		hangs := time.AfterFunc(2*time.Minute, func() {
			t.Errorf("round %d: ptrace-run -e %s hangs", rounds, events)
			run.Process.Kill()
			target.Process.Kill()
		})
		err := run.Wait()
		hangs.Stop()
		select {
		case <-ended:
			if code := target.ProcessState.ExitCode(); code != status {
				t.Errorf("round %d: the process ends with %v, want status %d", rounds, target.ProcessState, status)
			}
			t.Logf("%d rounds", rounds)
			return
		default:
		}
		if err != nil && !strings.Contains(said.String(), "No such process") {
			t.Fatalf("round %d: ptrace-run -e %s: %v\n%s", rounds, events, err, &said)
		}
		rounds++
	}
}

// A process that executes a program and cannot complete that makes every tracer wait. A signal ends
// the attempt.
func TestAttachToHalfExecuted(t *testing.T) {
	program, traces := compile(t, "halfexec")
	defer reap(t, "PTRACE_DIR="+traces)
	holder := exec.Command(program)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	pid := strings.TrimSpace(line)
	if err != nil {
		t.Fatal(err)
	}
	ended := func() bool { // the other thread, by the execution
		list, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
		for _, name := range list {
			if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(") Z ")) {
				return true
			}
		}
		return false
	}
	tracetest.Wait(t, "the process executes", ended)

	seizing := fmt.Appendf(nil, "%d %#x ", unix.SYS_PTRACE, unix.PTRACE_SEIZE)
	var said bytes.Buffer
	run := exec.Command("ptrace-run", "-p", pid, "-e", "syscall", "--dump=never")
	run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(time.Minute, func() { run.Process.Kill() })
	defer hangs.Stop()
	tracetest.Wait(t, "the tracer waits in the kernel", func() bool {
		list, _ := filepath.Glob("/proc/[0-9]*/syscall")
		for _, name := range list {
			if b, _ := os.ReadFile(name); bytes.HasPrefix(b, seizing) {
				return true
			}
		}
		return false
	})
	run.Process.Signal(syscall.SIGTERM)
	run.Wait()
	const want = ": the kernel makes tracers wait, since the process executes a program\n"
	if code := run.ProcessState.ExitCode(); code != 125 || !strings.HasSuffix(said.String(), want) {
		t.Errorf("ptrace-run ends with %v and says %q", run.ProcessState, &said)
	}
}

// Attached at any moment to a process that executes programs without a pause, ptrace-run records the
// next execution, whichever thread makes it.
func TestAttachRecordsExecution(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "executes")
	defer reap(t, "PTRACE_DIR="+traces)
	for _, threads := range []string{"0", "3"} {
		target := exec.Command(program, threads, "1000000000")
		if err := target.Start(); err != nil {
			t.Fatal(err)
		}
		defer target.Wait()
		defer target.Process.Kill()
		for range tracetest.Scale(3, 20, 50) {
			recordExecution(t, traces, target.Process.Pid)
		}
	}
}

// recordExecution attaches to a process until an execution is recorded.
func recordExecution(t *testing.T, traces string, pid int) {
	t.Helper()
	log := filepath.Join(traces, "executes.trace")
	os.Remove(log)
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	var said bytes.Buffer
	run := exec.Command("ptrace-run", "-p", strconv.Itoa(pid), "-e", "proc", "-o", log)
	run.Env, run.Stderr = env, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Process.Kill()
	tracetest.Wait(t, "proc.exec is in the log", func() bool {
		dump := exec.Command("ptrace-dump", "--head=1", "-e", "proc.exec", log)
		dump.Env = env
		out, _ := dump.Output()
		return len(out) > 0
	})
	run.Process.Signal(syscall.SIGINT)
	if err := run.Wait(); err != nil {
		t.Errorf("ptrace-run: %v\n%s", err, &said)
	}
}
