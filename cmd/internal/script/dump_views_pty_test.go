package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// On a terminal, the tree and the timeline fit its width and height, and colours mark failures and
// the slow path.
func TestViewsOnTerminal(t *testing.T) {
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "a.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "NO_COLOR=", "COLUMNS=", "LINES=", "LC_ALL=C.UTF-8")
	var batch strings.Builder
	for range 60 {
		batch.WriteString("many.begin\t日本語 \\x1b[2J and a name that is long enough to be cut\nmany.end\t0\n")
	}
	run := exec.Command("ptrace-run", "-o", log, "--", "sh", "-c", "ptrace-event --batch; ptrace-event -r failed sh -c 'exit 3'; exit 3")
	run.Env, run.Stdin = env, strings.NewReader(batch.String())
	if out, err := run.CombinedOutput(); err == nil || run.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, view := range []string{"--tree", "--timeline"} {
		for _, columns := range []uint16{20, 40, 80, 200} {
			for _, locale := range []string{"C", "C.UTF-8"} {
				cmd := exec.Command("ptrace-dump", view, log)
				cmd.Env = append(env, "LC_ALL="+locale)
				shown := onTerminal(t, columns, cmd)
				plain := sgr.ReplaceAllString(shown, "")
				harmless(t, view, []byte(shown), "")
				if locale == "C" && strings.ContainsFunc(plain, func(r rune) bool { return r >= 0x80 }) {
					t.Errorf("%s: not ASCII:\n%s", view, plain)
				}
				for line := range strings.Lines(plain) {
					if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > int(columns) {
						t.Errorf("%s, %d columns: %d are used: %q", view, columns, w, line)
					}
				}
				// A terminal of 25 lines, with a line for the next prompt.
				if n := strings.Count(plain, "\n"); n > 24 || !strings.Contains(plain, ".. ") && columns >= 80 {
					t.Errorf("%s, %d columns: %d lines:\n%s", view, columns, n, plain)
				}
				if !strings.Contains(shown, "\x1b[31m") || !strings.Contains(shown, "\x1b[1m") {
					t.Errorf("%s, %d columns: no colours: %q", view, columns, shown)
				}
			}
		}
	}
}

// On a terminal, the first line of the summary stays in view: of a log with more tables than there is room for,
// all lines fit. A pipe gets all tables.
func TestSummaryOnTerminal(t *testing.T) {
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "a.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "NO_COLOR=", "COLUMNS=", "LINES=", "LC_ALL=C.UTF-8")
	script := `for i in 1 2 3 4 5 6 7; do echo "line $i"; ptrace-event -r "job$i" true; ptrace-event "mark$i"; grep -q x /dev/null; done
		echo "disk full" >&2; sh -c "exit 3"; exit 3`
	run := exec.Command("ptrace-run", "-c", "-e", "proc", "-o", log, "--", "sh", "-c", script)
	run.Env = env
	if out, err := run.Output(); err == nil || run.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	dump := func(args ...string) *exec.Cmd {
		cmd := exec.Command("ptrace-dump", append(args, log)...)
		cmd.Env = env
		return cmd
	}
	all, err := dump("-s").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(all), "\n")
	for _, columns := range []uint16{40, 80, 200} {
		shown := sgr.ReplaceAllString(onTerminal(t, columns, dump("-s")), "")
		// A terminal of 25 lines, with a line for the next prompt.
		if n := strings.Count(shown, "\n"); n > 24 || !strings.HasPrefix(shown, first[:20]) || !strings.Contains(shown, "disk full") {
			t.Errorf("%d columns: %d lines:\n%s", columns, n, shown)
		}
		for line := range strings.Lines(shown) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > int(columns) {
				t.Errorf("%d columns: %d are used: %q", columns, w, line)
			}
		}
	}
	if n := strings.Count(string(all), "\n"); n < 40 || !strings.Contains(string(all), "\nmark7 ") {
		t.Errorf("to a pipe: %d lines:\n%s", n, all)
	}
}
