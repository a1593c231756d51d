package script_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
)

// A selection reads only the parts of a log that contain selected events, and the index.
func TestSelectionReadsLittle(t *testing.T) {
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "big.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	const events = 200_000
	// The index distinguishes groups of eight types, in the order of appearance.
	for i := range 16 {
		fmt.Fprintf(&lines, "filler.%d\n", i)
	}
	for i := range events {
		fmt.Fprintf(&lines, "frequent\tnumber %d\n", i)
		if i == 0 {
			for i := range 16 {
				fmt.Fprintf(&lines, "more.%d\n", i)
			}
		}
		if i == events/2 {
			lines.WriteString("rare\tin the middle\n")
		}
	}
	lines.WriteString("final\n")
	run := exec.Command("ptrace-run", "-o", log, "--stream-size=32M", "--", "ptrace-event", "--batch")
	run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run.Stdin = &lines
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	st, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	size := uint64(st.Size())

	all, out := readWhile(t, "--format=%t %n", log)
	if all < size {
		t.Fatalf("all of a log of %d bytes takes %d: the test cannot count", size, all)
	}
	times := map[string]string{} // of events by name
	for line := range strings.Lines(out) {
		at, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[name] = at
	}
	for _, tt := range []struct {
		args []string
		want int // lines
	}{
		{[]string{"-e", "rare"}, 1},
		{[]string{"-e", "r*,final"}, 2},
		{[]string{"-x", "@system,frequent,filler.*,more.*"}, 2},
		{[]string{"-e", "rare", "-w", "final", "-f"}, 1},
		{[]string{"--since=+" + times["rare"], "-e", "@user", "--head=1"}, 1},
		{[]string{"--since=+" + times["final"], "-e", "@user"}, 1},
		{[]string{"--until=+0.000001"}, 1},
		{[]string{"--since=-0", "-e", "@all"}, 1},
	} {
		n, out := readWhile(t, append(tt.args, log)...)
		if got := strings.Count(out, "\n"); got != tt.want {
			t.Errorf("%q shows %d events, want %d:\n%.500s", tt.args, got, tt.want, out)
		}
		if n > size/8 {
			t.Errorf("%q reads %d bytes of a log of %d", tt.args, n, size)
		}
	}
}

// readWhile returns the number of bytes that ptrace-dump reads, and its output.
func readWhile(t *testing.T, args ...string) (uint64, string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.NewEnv(append([]string{"ptrace-dump"}, args...))
	env.Stdout, env.Stderr = cli.NewWriter(&out), &errs
	env.Getenv = func(string) string { return "" }
	before := bytesRead(t)
	if status := dump.Command.Execute(env); status != 0 {
		t.Fatalf("%q: status %d, %s", args, status, errs.String())
	}
	return bytesRead(t) - before, out.String()
}

// bytesRead returns the number of bytes that this process has read from files.
func bytesRead(t *testing.T) (n uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(b), "rchar: %d\n", &n); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return n
}
