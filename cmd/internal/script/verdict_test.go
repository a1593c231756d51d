package script_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Each file of testdata/verdict is a situation, and the verdict that a person gives who knows it: the
// first lines of the summary, without times. A line "(any)" stands for lines of output that differ from
// version to version. A situation with a log was recorded, with a tool that not every machine has: it has the
// events that matter, as ptrace-dump lists them.
func TestVerdicts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "verdict", "*.txtar"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d situations, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			situation, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			testVerdict(t, situation)
		})
	}
}

func testVerdict(t *testing.T, situation *txtar.Archive) {
	dir := t.TempDir()
	var run, want string
	var recorded *string
	for _, f := range situation.Files {
		switch text := string(f.Data); f.Name {
		case "run":
			run = strings.TrimSpace(text)
		case "log":
			recorded = &text
		case "want":
			want = strings.ReplaceAll(text, "$WORK", dir)
		default:
			path := filepath.Join(dir, f.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if recorded != nil {
		summary := summaryOf(t, *recorded)
		if got := verdictOf(summary); !sameVerdict(got, want) {
			t.Errorf("%sthe verdict is\n%s\nwant\n%s\nsummary:\n%s", situation.Comment, got, want, summary)
		}
		checkWhy(t, verdictOf(summary), func(lines int) string { return whyOf(t, *recorded, lines) })
		return
	}
	for _, tool := range strings.Fields(run + " " + string(situation.Comment)) {
		if tools[tool] {
			if _, err := exec.LookPath(tool); err != nil {
				tracetest.Need(t, false, "no "+tool)
			}
		}
	}
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(traces)
	log := filepath.Join(t.TempDir(), "x.trace")
	record := func(together bool) (verdict, details string) {
		return recordVerdict(t, run, dir, traces, log, together)
	}
	if got, details := record(false); !sameVerdict(got, want) {
		t.Errorf("%sthe verdict is\n%s\nwant\n%s\n%s", situation.Comment, got, want, details)
	}
	// With one file for both outputs, which is then recorded as standard output, the same is to blame.
	if os.Getenv("POSIXTRACE_FULL") != "" {
		if got, details := record(true); !sameVerdict(withoutOutput(got), withoutOutput(want)) {
			t.Errorf("with one file for both outputs the verdict is\n%s\nwant\n%s\n%s", got, want, details)
		}
	}
}

// recordVerdict records a command and returns the verdict. together: it has one file for both outputs.
func recordVerdict(t *testing.T, run, dir, traces, log string, together bool) (verdict, details string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ptrace-run", append([]string{"-c", "-e", "proc", "-o", log}, strings.Fields(run)...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C", "MAKEFLAGS=", "MAKELEVEL=", "GOFLAGS=-buildvcs=false")
	var printed, complaints bytes.Buffer
	if cmd.Stdout, cmd.Stderr = &printed, &complaints; together {
		cmd.Stderr = &printed
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%v\n%s%s", err, printed.Bytes(), complaints.Bytes())
	}
	summary, err := exec.CommandContext(ctx, "ptrace-dump", "-s", log).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, summary)
	}
	checkWhy(t, verdictOf(string(summary)), func(lines int) string {
		option := "--why=" + strconv.Itoa(lines)
		if lines == 0 {
			option = "-j"
		}
		answer, err := exec.CommandContext(ctx, "ptrace-dump", "--why", option, log).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, answer)
		}
		return string(answer)
	})
	return verdictOf(string(summary)), "printed:\n" + printed.String() + complaints.String() + "\nsummary:\n" + string(summary)
}

// withoutOutput returns a verdict without the lines that the command printed.
func withoutOutput(verdict string) string {
	var b strings.Builder
	for line := range strings.Lines(verdict) {
		if !strings.HasPrefix(line, " ") || line == "    (any)\n" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// tools are those that not every machine has.
var tools = map[string]bool{"make": true, "python3": true, "node": true, "npm": true, "go": true, "cmake": true, "dash": true, "cc": true}

var verdictTime = regexp.MustCompile(` after [^ ]+(, processor time [^;]*)?(; running then: .*)?$`)

// waitedFor is what a command waited for when its time was up. A look at it that takes too long on a busy
// machine has no report.
var waitedFor = regexp.MustCompile(`; then: [^;]*`)

// verdictOf returns the lines of a summary that say what failed, without times and what was waited for.
func verdictOf(summary string) string {
	var b strings.Builder
	for _, line := range strings.Split(summary, "\n") {
		if line == "" || strings.HasPrefix(line, "slowest ") || strings.HasPrefix(line, "longest ") || strings.HasPrefix(line, "the machine was busy: ") {
			break
		}
		if !strings.HasPrefix(line, " ") {
			line = verdictTime.ReplaceAllString(waitedFor.ReplaceAllString(line, ""), "$2")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// sameVerdict reports whether the lines are those that a person would give.
func sameVerdict(got, want string) bool {
	want, any := strings.CutSuffix(want, "    (any)\n")
	if any {
		rest, ok := strings.CutPrefix(got, want)
		return ok && !strings.Contains("\n"+rest, "\nfailed: ")
	}
	return got == want
}
