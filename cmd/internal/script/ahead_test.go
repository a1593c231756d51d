package script_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
)

// recordedLog creates a log from lines for ptrace-event --batch.
func recordedLog(t *testing.T, lines []byte) (log string) {
	t.Helper()
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "long.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("ptrace-run", "-o", log, "--stream-size=8M", "--", "ptrace-event", "--batch")
	run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run.Stdin = bytes.NewReader(lines)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return log
}

// dumped runs ptrace-dump in this process.
func dumped(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	env := cli.NewEnv(append([]string{"ptrace-dump"}, args...))
	env.Stdout, env.Stderr = cli.NewWriter(&o), &e
	env.Getenv = func(string) string { return "" }
	status = dump.Command.Execute(env)
	return status, o.String(), e.String()
}

// The output with reading ahead equals the output without it, to the last byte and message.
func TestReadAhead(t *testing.T) {
	var lines []byte
	for i := range 40_000 { // two types; some data needs escaping
		lines = fmt.Appendf(lines, "even.%d\tnumber %d \"%c\n", i%2, i, 'a'+i%1000)
	}
	log := recordedLog(t, lines)
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	hurt := log + ".hurt"
	cut := log + ".cut"
	b := slices.Clone(whole)
	b[len(b)*2/3] ^= 1
	for name, b := range map[string][]byte{hurt: b, cut: whole[:len(whole)*2/3]} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	goroutines := runtime.NumGoroutine()
	for _, args := range [][]string{
		{log}, {"-j", log}, {"--time=delta", log}, {"--golden", log}, {"--csv", "-e", "even.1", log},
		{"--head=35000", log}, {"--last=35000", log}, {"--since=+0.01", log}, {log, log}, {log, "--check"},
		{"-s", "-p", "1", log}, {hurt}, {"-s", hurt}, {cut}, {"--check", hurt, log},
	} {
		runtime.GOMAXPROCS(1)
		status, want, wantErrs := dumped(args...)
		runtime.GOMAXPROCS(4)
		again, got, errs := dumped(args...)
		if status != again || errs != wantErrs {
			t.Errorf("%q: status %d, %q; read ahead %d, %q", args, status, wantErrs, again, errs)
		}
		if got != want {
			t.Errorf("%q: %d bytes; read ahead, %d different ones", args, len(want), len(got))
		}
		if whole := args[len(args)-1] == log; whole != (status == 0) && !slices.Contains(args, "--check") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if n := strings.Count(want, "\n"); n < 10_000 && len(args) == 1 {
			t.Errorf("%q: %d events", args, n)
		}
	}
	// A goroutine that has finished its work may not have exited yet.
	for end := time.Now().Add(60 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, where there were %d", runtime.NumGoroutine(), goroutines)
		}
	}
}
