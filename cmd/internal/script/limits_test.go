package script_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() { helpers["max-rss"] = maxRSS }

// maxRSS runs a command and prints its peak memory in KiB on standard error. It is a
// separate process because a child starts with the memory of its parent.
func maxRSS() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	fmt.Fprintln(os.Stderr, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	os.Exit(cmd.ProcessState.ExitCode())
}

// bigLog creates a log of at least size bytes.
func bigLog(t *testing.T, path string, size int64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(os.Getpid(), &posixtrace.Attr{StreamSize: 8 << 20, LogFullPolicy: posixtrace.PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := posixtrace.OpenEventID("big.event")
	if err != nil {
		t.Fatal(err)
	}
	begin, _ := posixtrace.OpenEventID("big.begin")
	end, _ := posixtrace.OpenEventID("big.end")
	data := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for n, written := 0, int64(0); written < size; n++ {
		posixtrace.Event(begin, nil)
		posixtrace.Event(id, data[:n%len(data)])
		posixtrace.Event(end, nil)
		if written += int64(n%len(data)) + 32; n%4096 == 4095 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A long log takes no more memory than a short one: 64 MiB are enough for every output.
func TestMemoryBounded(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	size, most := int64(24<<20), 64<<10
	if os.Getenv("POSIXTRACE_FULL") != "" {
		size = 256 << 20
	}
	log := filepath.Join(t.TempDir(), "big.trace")
	bigLog(t, log, size)
	st, err := os.Stat(log)
	if err != nil || st.Size() < size*9/10 {
		t.Fatal(st.Size(), err)
	}
	var figures []string
	for _, form := range []string{"", "--table", "-j", "--csv", "--chrome", "--golden", "-s", "--check", "-N 1000", "--since=-1s", "--types", "-"} {
		args := []string{"ptrace-dump"}
		args = append(args, strings.Fields(form)...)
		var stdin *os.File
		if form == "-" { // read forward
			if stdin, err = os.Open(log); err != nil {
				t.Fatal(err)
			}
		} else {
			args = append(args, log)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, "max-rss", args...)
		if stdin != nil {
			cmd = exec.CommandContext(ctx, "sh", "-c", `cat | max-rss ptrace-dump -`)
			cmd.Stdin = stdin
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		cancel()
		if stdin != nil {
			stdin.Close()
		}
		kib, aerr := strconv.Atoi(strings.TrimSpace(errs.String()))
		if err != nil || aerr != nil {
			t.Fatalf("%q: %v: %s", args, err, errs.String())
		}
		if kib > most {
			t.Errorf("%q: %d MiB for a log of %d MiB", args[:len(args)-1], kib>>10, st.Size()>>20)
		}
		figures = append(figures, fmt.Sprintf("%s: %d MiB", form, kib>>10))
	}
	t.Logf("a log of %d MiB: %s", st.Size()>>20, strings.Join(figures, ", "))
}

// With few descriptors or little memory, commands do their work or report why not. A traced
// command runs, or is not started.
func TestLimits(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run := func(limit string, args ...string) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limit + `; exec "$@"`, "sh"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput()
		if ctx.Err() != nil {
			t.Fatalf("%s: %q: %v\n%s", limit, args, cmd.ProcessState, out)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if status, out := run(":", "ptrace-run", "-o", "a.trace", "ptrace-event", "a"); status != 0 {
		t.Fatal(out)
	}
	done := map[string]int{}
	for n := 3; n <= 24; n++ {
		limit := fmt.Sprintf("ulimit -n %d", n)
		for _, args := range [][]string{
			{"ptrace-run", "-o", "b.trace", "echo", "it-ran"}, {"ptrace-run", "-c", "-o", "b.trace", "echo", "it-ran"}, {"ptrace-run", "-e", "proc", "-o", "b.trace", "echo", "it-ran"},
			{"ptrace-dump", "a.trace"}, {"ptrace-dump", "-s", "a.trace"}, {"ptrace-ctl", "list"}, {"ptrace-create", "-s", "limited"}, {"ptrace-filter", "-i", "a.trace", "-l"}, {"ptrace-event", "-r", "x", "echo", "it-ran"},
		} {
			if n < 7 && (args[0] == "ptrace-run" || args[0] == "ptrace-event") && len(args) > 4 {
				continue // the command itself could not start
			}
			status, out := run(limit, args...)
			if strings.Contains(out, "goroutine ") && !strings.Contains(out, "runtime: ") {
				t.Errorf("%s: %q: %s", limit, args, out)
			}
			if status == 0 {
				done[strings.Join(args[:2], " ")]++
				if args[len(args)-1] == "it-ran" && !strings.Contains(out, "it-ran") {
					t.Errorf("%s: %q: status 0, but it did not run: %s", limit, args, out)
				}
			} else if out == "" {
				t.Errorf("%s: %q: status %d without a message", limit, args, status)
			}
			if args[0] == "ptrace-create" && status == 0 {
				run(":", "ptrace-ctl", "shutdown", "limited")
			}
		}
	}
	for _, kib := range []int{100 << 10, 200 << 10, 400 << 10, 800 << 10, 1600 << 10} {
		limit := fmt.Sprintf("ulimit -v %d", kib)
		for _, args := range [][]string{{"ptrace-run", "-c", "-o", "b.trace", "echo", "it-ran"}, {"ptrace-dump", "a.trace"}, {"ptrace-run", "--stream-size=1G", "echo", "it-ran"}} {
			status, out := run(limit, args...)
			if status == 0 {
				done["memory "+args[0]]++
			} else if out == "" {
				t.Errorf("%s: %q: status %d without a message", limit, args, status)
			}
			if strings.Contains(out, "goroutine ") && !strings.Contains(out, "runtime: ") && !strings.Contains(out, "out of memory") {
				t.Errorf("%s: %q: %s", limit, args, out)
			}
		}
	}
	t.Logf("done: %v", done)
	if len(done) < 6 {
		t.Errorf("only these could be done at all: %v", done)
	}
	// Nothing is left behind.
	run(":", "ptrace-ctl", "list")
	if left, _ := filepath.Glob(filepath.Join(traces, "[slt]-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
