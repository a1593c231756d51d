package script_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Captured lines are in the order in which the command wrote them, in a stream that is
// repeatedly full and constantly flushed.
func TestCapturedLinesInOrder(t *testing.T) {
	const lines = 40_000
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "lines.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run := exec.Command("ptrace-run", "-c", "-n", "lines", "-o", log, "--stream-size=16K", "--", "seq", strconv.Itoa(lines))
	run.Env = env
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- run.Wait() }()
	var err error
	for over := false; !over; {
		select {
		case err = <-done:
			over = true
		default:
			flush := exec.Command("ptrace-ctl", "flush", "lines")
			flush.Env = env
			flush.Run() // the stream may not exist yet, or no longer
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// Events without room, while the owner flushes for another process, are counted as
	// lost.
	status, err := exec.Command("ptrace-dump", "--status", log).Output()
	if err != nil {
		t.Fatal(err)
	}
	lost := -1
	for line := range bytes.Lines(status) {
		fmt.Sscanf(string(line), "lost %d", &lost)
	}
	for _, from := range []string{log, "-"} {
		dump := exec.Command("ptrace-dump", "-e", "output.stdout", "--format=%d\\n", from)
		dump.Stdin = bytes.NewReader(whole)
		out, err := dump.Output() // ptrace-dump reports the number of lost events on standard error
		if err != nil {
			t.Fatal(err)
		}
		last, n := 0, 0
		for _, line := range bytes.Fields(out) {
			k, err := strconv.Atoi(string(line))
			if err != nil {
				t.Fatalf("from %s: line %q", from, line)
			}
			if k <= last {
				t.Fatalf("from %s: line %d behind line %d", from, k, last)
			}
			last = k
			n++
		}
		if n+lost != lines {
			t.Errorf("from %s: %d lines of %d, and %d lost", from, n, lines, lost)
		}
	}
}
