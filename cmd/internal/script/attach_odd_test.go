package script_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// ptrace-run -p attaches to processes of odd kinds, records calls and detaches from every thread, and
// the process goes on.
func TestAttachToOddProcess(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program, traces := compile(t, "odd")
	defer reap(t, "PTRACE_DIR="+traces)
	many := strconv.Itoa(tracetest.Scale(300, 2000, 2000))
	for _, tt := range []struct {
		name, call string
		args       []string
	}{
		{"many threads", "clock_nanosleep", []string{"threads", many}},
		{"threads that come and go", "clock_nanosleep", []string{"churn"}},
		{"a process that no signal reaches", "clock_nanosleep", []string{"deaf"}},
		{"a thread in vfork", "clock_nanosleep", []string{"vfork"}},
		{"a process that changes its user", "setresuid", []string{"user"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.call == "setresuid" {
				tracetest.Need(t, os.Geteuid() == 0, "root")
			}
			odd := exec.Command(program, tt.args...)
			in, err := odd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := odd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := odd.Start(); err != nil {
				t.Fatal(err)
			}
			defer odd.Process.Kill()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("the process says %q, %v", line, err)
			}
			log := filepath.Join(traces, "odd.trace")
			for range 3 {
				attachOnce(t, traces, log, odd.Process.Pid, tt.call)
			}
			in.Close()
			hangs := time.AfterFunc(time.Minute, func() { odd.Process.Kill() })
			odd.Wait()
			hangs.Stop()
			if code := odd.ProcessState.ExitCode(); code != 3 {
				t.Errorf("the process ends with %v, want status 3", odd.ProcessState)
			}
		})
	}
}

// attachOnce attaches to a process until it has recorded a call, and checks that it has detached.
func attachOnce(t *testing.T, traces, log string, pid int, call string) {
	t.Helper()
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	var said bytes.Buffer
	run := exec.Command("ptrace-run", "-p", strconv.Itoa(pid), "-e", "proc,syscall", "-o", log)
	run.Env, run.Stderr = env, &said
	os.Remove(log)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	defer run.Process.Kill()
	tracetest.Wait(t, "the log has the call", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("ptrace-run ends with %v\n%s", err, &said)
		default:
		}
		dump := exec.Command("ptrace-dump", "--head=1", "-e", "syscall."+call, log)
		dump.Env = env
		out, _ := dump.Output()
		return len(out) > 0
	})
	run.Process.Signal(unix.SIGINT)
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("ptrace-run: %v\n%s", err, &said)
		}
	case <-time.After(time.Minute):
		t.Fatal("ptrace-run does not detach")
	}
	list, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	if err != nil || len(list) == 0 {
		t.Fatalf("the process has no threads: %v", err)
	}
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && !strings.Contains(string(b), "\nTracerPid:\t0\n") {
			t.Errorf("%s has a tracer", name)
		}
	}
}
