package script_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Option values at the limits of 32 and 64 bits are carried out, refused as usage errors,
// or fail with a message. Nothing crashes, hangs or wraps around.
func TestHugeOptions(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run := func(args ...string) (status int, text []byte) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		// Limit files to 64 MiB: some options ask for streams of gigabytes.
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -f 131072; exec "$@"`, "sh"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		text, _ = cmd.CombinedOutput()
		if ctx.Err() != nil || bytes.Contains(text, []byte("goroutine ")) || cmd.ProcessState.ExitCode() < 0 {
			t.Fatalf("%q: %v\n%s", args, cmd.ProcessState, text)
		}
		return cmd.ProcessState.ExitCode(), text
	}
	if status, text := run("ptrace-run", "-o", "a.trace", "--", "sh", "-c", "ptrace-event a; ptrace-event b"); status != 0 {
		t.Fatalf("%s", text)
	}
	numbers := []string{"2147483647", "2147483648", "4294967295", "4294967296", "4294967297", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999"}
	sizes := append(slices.Clone(numbers), "2097151K", "2097152K", "4194304K", "9007199254740991K", "9007199254740992K", "8589934591G", "8589934592G")
	durations := append(slices.Clone(numbers), "9223372036s", "9223372037s", "2562047h", "2562048h", "106751d", "106752d", "9223372036854775807ns", "9223372036854775808ns", "1e400s")
	tried := 0
	for _, c := range []struct {
		values []string
		args   []string
		usage  []int // statuses of refusals
	}{
		{sizes, []string{"ptrace-run", "--stream-size=N", "true"}, []int{2, 125}},
		{sizes, []string{"ptrace-run", "--max-data-size=N", "true"}, []int{2, 125}},
		{sizes, []string{"ptrace-run", "--log-size=N", "--log-full-policy=loop", "-o", "b.trace", "true"}, []int{2, 125}},
		{numbers, []string{"ptrace-run", "--last=N", "--dump=always", "true"}, []int{2, 125}},
		{durations, []string{"ptrace-run", "--timeout=N", "--kill-after=N", "--drain=N", "-c", "true"}, []int{2, 125}},
		{numbers, []string{"ptrace-run", "--signal=N", "true"}, []int{2, 125}},
		{sizes, []string{"ptrace-create", "--stream-size=N", "--max-data-size=N", "big"}, []int{1, 2}},
		{numbers, []string{"ptrace-create", "--pid=N", "big"}, []int{1, 2}},
		{numbers, []string{"ptrace-event", "--pid=N", "x"}, []int{1, 2}},
		{numbers, []string{"ptrace-dump", "--head=N", "a.trace"}, []int{2}},
		{numbers, []string{"ptrace-dump", "--last=N", "a.trace"}, []int{2}},
		{numbers, []string{"ptrace-dump", "--pid=N", "--tid=N", "a.trace"}, []int{2}},
		{durations, []string{"ptrace-dump", "--since=+N", "a.trace"}, []int{2}},
		{durations, []string{"ptrace-dump", "--until=-N", "a.trace"}, []int{2}},
		{durations, []string{"ptrace-dump", "--timeout=N", "-w", "a", "a.trace"}, []int{2}},
		{numbers, []string{"ptrace-dump", "--replay=N", "a.trace"}, []int{2}},
	} {
		for _, v := range c.values {
			args := slices.Clone(c.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "=N", "="+v)
				args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "=+N", "=+"+v), "=-N", "=-"+v)
			}
			status, text := run(args...)
			tried++
			switch {
			case status != 0 && (!slices.Contains(c.usage, status) || len(text) == 0):
				t.Errorf("%q: status %d: %s", args, status, text)
			case status != 0 && bytes.Count(text, []byte("\n")) > 2:
				t.Errorf("%q: %s", args, text)
			case status == 0 && strings.HasPrefix(args[1], "--head") && bytes.Count(text, []byte("\n")) < 4:
				t.Errorf("%q shows %s", args, text)
			}
			if args[0] == "ptrace-create" && status == 0 {
				run("ptrace-ctl", "shutdown", "big")
			}
		}
	}
	t.Logf("%d command lines", tried)
}
