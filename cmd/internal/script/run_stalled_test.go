package script_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A log whose reader does not read does not block the command, and a time limit or a signal
// ends the run.
func TestRunEndsWithStalledLog(t *testing.T) {
	// The command prints when it has written far more than stream, pipes and FIFO hold.
	const much = "yes $(printf %0999d 0) | head -c 4000000; echo $$ >writing; mv writing written; "
	tests := []struct {
		name    string
		options []string
		command string
		signal  syscall.Signal
		want    int
	}{
		{"time limit", []string{"-t", "1"}, much + "exec sleep 120", 0, 124},
		{"TERM after the end", nil, much, unix.SIGTERM, 0},
		{"terminal", []string{"--pty=yes", "-t", "1"}, much + "exec sleep 120", 0, 124},
	}
	if os.Getenv("POSIXTRACE_FULL") != "" {
		tests = append(tests, tests[0], tests[1], tests[0])
		n := len(tests)
		tests[n-2].name, tests[n-2].options, tests[n-2].command, tests[n-2].want = "after the end", []string{"-t", "10"}, much, 0
		tests[n-1].name, tests[n-1].options, tests[n-1].signal, tests[n-1].want = "INT", nil, unix.SIGINT, 130
		tests[n-3].name, tests[n-3].options, tests[n-3].signal, tests[n-3].want = "TERM", nil, unix.SIGTERM, 143
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newCrashes(t)
			fifo := filepath.Join(h.dir, "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(r)
			nearlyFull(t, fifo, r)
			written := filepath.Join(h.dir, "written")
			args := append([]string{"ptrace-run", "-c", "-o", fifo, "--stream-size=64K"}, tt.options...)
			cmd := h.command(append(args, "sh", "-c", tt.command)...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var late bool
			timer := time.AfterFunc(100*time.Second, func() {
				late = true
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			})
			defer timer.Stop()
			if tt.signal != 0 {
				h.wait("end of the command, whose output waits for the log", func() bool {
					time.Sleep(time.Millisecond)
					b, err := os.ReadFile(written)
					if err != nil || tt.want != 0 {
						return err == nil
					}
					// While the command runs, the signal is for the command.
					pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
					return err == nil && unix.Kill(pid, 0) == unix.ESRCH
				})
			}
			if tt.signal != 0 {
				cmd.Process.Signal(tt.signal)
			}
			err = cmd.Wait()
			got := cmd.ProcessState.ExitCode()
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
				got = 128 + int(ws.Signal())
			}
			if late || got != tt.want {
				t.Errorf("ptrace-run ended with %d (%v, killed: %v), want %d", got, err, late, tt.want)
			}
			// A signal comes after the command has filled the log.
			if text := said.String(); !strings.Contains(text, "the log's reader does not read") ||
				tt.signal != 0 && !strings.Contains(text, " lost\n") {
				t.Errorf("ptrace-run reports %q", text)
			}
			if left, _ := filepath.Glob(filepath.Join(h.traces(), "s-*")); left != nil {
				t.Errorf("streams remain: %q", left)
			}
		})
	}
}

// nearlyFull leaves room in a FIFO for the header of a log and for not even the shortest log, so that
// its writer waits however little a slow command has written.
func nearlyFull(t *testing.T, fifo string, r int) {
	t.Helper()
	const room = 1500
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	size, err := unix.FcntlInt(uintptr(r), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size-room)); err != nil {
		t.Fatal(err)
	}
}
