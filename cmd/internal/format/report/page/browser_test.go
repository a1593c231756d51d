package page

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// long are the tests that take half of the time: of accessibility, and of reports of real builds. Only
// scripts/check --all runs them.
var long = []string{"axe.test.mjs", "real.test.mjs"}

// TestInBrowser tests the page of a report in headless Chromium: what it draws, mouse, keys, search,
// hostile texts, accessibility, and how fast it opens. The tests are in JavaScript. Some have only the report of a log that the commands recorded.
// They need node, npm, which fetches what package-lock.json has, and Chromium; CHROMIUM names another
// browser. POSIXTRACE_SLOW is a factor by which times may exceed their limits: 3 in CI.
func TestInBrowser(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // the programs are the same
	tracetest.NeedProgram(t, "node")
	tracetest.NeedProgram(t, "npm")
	tracetest.Need(t, os.Getenv("CHROMIUM") != "" || slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	}), "Chromium")
	t.Chdir("../browser")
	tests, err := filepath.Glob("*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatalf("tests: %q %v", tests, err)
	}
	tests = slices.DeleteFunc(tests, func(name string) bool {
		return name == "speed.test.mjs" || !tracetest.Full() && slices.Contains(long, name)
	})
	tmp, traces := t.TempDir(), t.TempDir()
	if dir, err := os.MkdirTemp("/dev/shm", "posixtrace-browser-"); err == nil {
		traces = dir
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	if err := os.Chmod(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(tmp, "bin")
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"PTRACE_STREAM", "PTRACE_SPOOL", "MAKEFLAGS", "MAKELEVEL"}, name)
	})
	env = append(env, "PATH="+bin+":"+os.Getenv("PATH"), "PTRACE_DIR="+traces, "TMPDIR="+tmp, "CGO_ENABLED=0")
	if os.Getenv("CI") != "" && os.Getenv("POSIXTRACE_SLOW") == "" {
		env = append(env, "POSIXTRACE_SLOW=3")
	}
	run := func(limit time.Duration, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = env
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // node ends its browsers
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(5*time.Minute, "go", "build", "-buildvcs=false", "-o", bin+"/", "github.com/posixtrace/posixtrace/cmd/ptrace-...", "./testdata/recorder"); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := run(5*time.Minute, "npm", "ci", "--silent", "--no-audit", "--no-fund", "--no-update-notifier")
	tracetest.Need(t, err == nil, "npm ci: "+out)
	node := []string{"node", "--test", "--test-reporter=spec"}
	pass := regexp.MustCompile(`(?m)^ℹ pass [1-9]`)
	for _, args := range [][]string{{"speed.test.mjs"}, append([]string{"--test-concurrency=2"}, tests...)} { // speed alone
		out, err := run(5*time.Minute, append(node, args...)...)
		if err != nil || !pass.MatchString(out) {
			t.Errorf("%q: %v\n%s", args, err, out)
		} else if testing.Verbose() {
			t.Log(out)
		}
	}
}
