package script_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// What remains when a command is killed while it creates a stream without a log, or after
// it has, and how it is removed.

// traces returns the trace directory.
func (h *crashes) traces() string { return strings.TrimPrefix(h.env[len(h.env)-2], "PTRACE_DIR=") }

// processes returns the processes with the trace directory in their environment, except
// those in not.
func (h *crashes) processes(not ...int) (list []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte("PTRACE_DIR="+h.traces()+"\x00")) || !alive(pid) {
			continue
		}
		for _, n := range not {
			if n == pid {
				pid = 0
			}
		}
		if pid != 0 {
			list = append(list, pid)
		}
	}
	return list
}

// nothingLeft runs commands until the trace directory is empty. Commands keep an incomplete
// file for a minute; nothingLeft dates such files back.
func (h *crashes) nothingLeft() {
	h.t.Helper()
	old := time.Now().Add(-time.Hour)
	temps, _ := filepath.Glob(h.traces() + "/t-*")
	for _, f := range temps {
		os.Chtimes(f, old, old)
	}
	pages, _ := filepath.Glob(h.traces() + "/p-*") // of the killed processes, not of later commands
	var left []string
	for range 20 { // a killed process may not have ended yet
		h.output("ptrace-ctl", "list")
		h.output("ptrace-ctl", "shutdown", strings.TrimSpace(h.output("ptrace-create", "-p", strconv.Itoa(os.Getpid()))))
		left, _ = filepath.Glob(h.traces() + "/[slt]-*")
		for _, p := range pages {
			pid, _ := strconv.Atoi(strings.Split(filepath.Base(p), "-")[1])
			if _, err := os.Lstat(p); err == nil && !alive(pid) {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	h.t.Fatalf("left behind: %q", left)
}

// The recorder of a command is killed before, while or after the command starts. The
// command continues. The next command removes stream and spool. The tracer, if any, ends
// with the command.
func TestCrashRecorder(t *testing.T) {
	h := newCrashes(t)
	rounds := tracetest.Scale(12, 300, 3000)
	began := 0
	for n := range rounds {
		h.reset()
		args := []string{"ptrace-run", "--stream-size=64K"}
		switch n % 3 {
		case 1:
			args = append(args, "--capture")
		case 2:
			args = append(args, "-e", "proc,signal")
		}
		run := h.start(append(args, "--", "sh", "-c", `printf 'line\t1\t\tx\n' >>"$PTRACE_SPOOL"; exec crash-target counted`)...)
		h.c.run.Store(1)
		if n%2 == 0 {
			h.wait("event", func() bool { return h.c.done.Load() > 0 })
			time.Sleep(rand.N(5 * time.Millisecond))
		} else {
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		run.Process.Kill()
		run.Wait()
		if pid := int(h.c.pid.Load()); pid != 0 {
			began++
			if !alive(pid) {
				t.Fatalf("round %d: the command has ended", n)
			}
			more := h.c.done.Load() + 10
			h.wait("further events", func() bool { return h.c.done.Load() > more })
		}
		if rand.N(2) == 0 {
			h.output("ptrace-ctl", "list") // while the command runs
		}
		syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
		if pid := int(h.c.pid.Load()); pid != 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		h.wait("end of all processes", func() bool { return len(h.processes()) == 0 })
		h.nothingLeft()
	}
	t.Logf("%d killed, %d commands had started", rounds, began)
}

// ptrace-create is killed at any time. The stream exists and is whole, or does not exist.
func TestCrashCreate(t *testing.T) {
	h := newCrashes(t)
	rounds := tracetest.Scale(16, 300, 3000)
	target := h.start("crash-target", "counted")
	h.wait("process", func() bool { return h.c.pid.Load() != 0 })
	h.c.run.Store(1)
	made := 0
	for n := range rounds {
		args := []string{"ptrace-create", "-s", "-p", strconv.Itoa(target.Process.Pid)}
		if n%2 == 1 {
			args = append(args, "-o", "made.trace")
		}
		if n%4 > 1 {
			args = append(args, "--export")
		}
		create := h.start(append(args, "made")...)
		time.Sleep(rand.N(40 * time.Millisecond))
		create.Process.Kill()
		create.Wait()
		there := func() bool { return strings.TrimSpace(h.output("ptrace-ctl", "list", "-q")) != "" }
		// A keeper may still be working, or about to notice that its caller is gone.
		h.wait("decision", func() bool {
			return len(h.processes(target.Process.Pid)) == 0 || there()
		})
		if there() {
			made++
			// A keeper that notices that its caller is gone ends its stream.
			if out, err := h.command("ptrace-event", "-S", "made", "e", "data").CombinedOutput(); err != nil {
				h.wait("end of the stream: "+string(out), func() bool { return !there() })
			}
			h.output("ptrace-ctl", "shutdown", "-f", "made")
			if n%2 == 1 {
				h.output("ptrace-dump", "--check", "made.trace")
			}
		}
		h.wait("end of the keeper", func() bool { return len(h.processes(target.Process.Pid)) == 0 })
		h.nothingLeft()
	}
	if !alive(target.Process.Pid) {
		t.Error("the target has ended")
	}
	t.Logf("%d killed, %d streams were there", rounds, made)
}
