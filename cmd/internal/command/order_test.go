package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Captured lines come out in the order in which the command wrote them, with a stream that
// is full again and again and is flushed all the time.
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
			flush.Run() // there may be no such stream yet, or any more
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{log, "-"} {
		dump := exec.Command("ptrace-dump", "-e", "output.stdout", "--format=%d\\n", from)
		dump.Stdin = bytes.NewReader(whole)
		out, err := dump.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		next := 1
		for _, line := range bytes.Fields(out) {
			n, err := strconv.Atoi(string(bytes.Trim(line, `"`)))
			if err != nil {
				continue
			}
			if n != next {
				t.Fatalf("from %s: line %d where %d should be", from, n, next)
			}
			next++
		}
		if next != lines+1 {
			t.Errorf("from %s: %d lines of %d", from, next-1, lines)
		}
	}
}
