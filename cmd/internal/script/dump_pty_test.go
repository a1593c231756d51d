package script_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// onTerminal runs a command on a terminal with that many columns and returns its output.
func onTerminal(t *testing.T, columns uint16, cmd *exec.Cmd) string {
	t.Helper()
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 25, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	late := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	shown, _ := io.ReadAll(f) // EIO ends it
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, shown)
	}
	return strings.ReplaceAll(string(shown), "\r\n", "\n")
}

// A table is at most as wide as the terminal. Elsewhere nothing is truncated. Escapes stay
// escaped.
func TestTableFitsTerminal(t *testing.T) {
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "a.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "NO_COLOR=1", "COLUMNS=")
	run := exec.Command("ptrace-run", "-o", log, "--", "ptrace-event", "--batch")
	run.Env = env
	long := strings.Repeat("日本語 and so on ", 20)
	run.Stdin = strings.NewReader("short\ta\\x1b[2Jb\na.name.that.is.longer\t" + long + "\n")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dump := func(more ...string) *exec.Cmd {
		cmd := exec.Command("ptrace-dump", "--table", log)
		cmd.Env = append(env, more...)
		return cmd
	}
	for _, tt := range []struct {
		columns uint16
		env     []string
		want    int
	}{{60, nil, 60}, {80, nil, 80}, {80, []string{"COLUMNS=100"}, 100}, {80, []string{"COLUMNS=x"}, 80}} {
		shown := onTerminal(t, tt.columns, dump(tt.env...))
		widest := 0
		for line := range strings.Lines(shown) {
			widest = max(widest, twwidth.Width(strings.TrimSuffix(line, "\n")))
		}
		// A character of two columns may not fit into the last column.
		if widest > tt.want || widest < tt.want-1 || !strings.Contains(shown, "…\n") {
			t.Errorf("%d columns, %q: %d are used:\n%s", tt.columns, tt.env, widest, shown)
		}
		if strings.Contains(shown, "\x1b") {
			t.Errorf("an escape character is shown: %q", shown)
		}
	}
	out, err := dump("COLUMNS=40").Output()
	if err != nil || !strings.Contains(string(out), strings.TrimSpace(long)) {
		t.Errorf("in a pipe: %v\n%s", err, out)
	}
}

// On a terminal the end of a span has its duration, unless its begin is unknown or in doubt.
// Colours mark failures, standard error, error numbers and losses, and names by their class. In a
// pipe and in a file there are neither.
func TestTextOnTerminal(t *testing.T) {
	dir := t.TempDir()
	traces, log := filepath.Join(dir, "traces"), filepath.Join(dir, "a.trace")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "NO_COLOR=", "COLUMNS=", "LC_ALL=C.UTF-8")
	run := exec.Command("ptrace-run", "--capture=out,err", "-e", "command,syscall.chdir", "-o", log, "sh", "-c", `
		for e in outer.begin inner.begin inner.end; do ptrace-event $e; done
		ptrace-event -r bad sh -c "exit 3"
		ptrace-event outer.end
		for e in again.begin again.begin again.end a.begin b.begin a.end b.end stray.end again.end; do ptrace-event $e; done
		echo err >&2
		cd /nosuch`)
	run.Env = env
	if out, err := run.CombinedOutput(); run.ProcessState == nil || run.ProcessState.ExitCode() != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	dump := func(more ...string) *exec.Cmd {
		cmd := exec.Command("ptrace-dump", append([]string{"--time=none", log}, more...)...)
		cmd.Env = env
		return cmd
	}
	shown := regexp.MustCompile(`[0-9.]+(ns|µs|ms|s)\)`).ReplaceAllString(onTerminal(t, 80, dump()), "T)")
	shown = regexp.MustCompile(`(?m)^[0-9]+ `).ReplaceAllString(shown, "")
	for _, line := range []string{
		"\x1b[36mposix_trace_start\x1b[0m filter=[]",
		"\x1b[1minner.end\x1b[22m (T)", "\x1b[1mouter.end\x1b[22m (T)", "\x1b[31mbad.end \"3\"\x1b[0m (T)",
		"\x1b[1magain.end\x1b[22m", "\x1b[1ma.end\x1b[22m", "\x1b[1mb.end\x1b[22m", "\x1b[1mstray.end\x1b[22m", // in doubt
		"\x1b[33moutput.stderr \"err\"\x1b[0m",
	} {
		if !strings.Contains(shown, line+"\n") {
			t.Errorf("no line %q in\n%q", line, shown)
		}
	}
	for _, text := range []string{"result=-1\x1b[31m errno=ENOENT\x1b[0m duration=", "\x1b[31mproc.exit status=2 "} {
		if !strings.Contains(shown, text) {
			t.Errorf("no text %q in\n%q", text, shown)
		}
	}
	if n := strings.Count(shown, "(T)"); n != 3 {
		t.Errorf("%d durations in\n%q", n, shown)
	}
	piped, err := dump().Output()
	if err != nil || strings.ContainsAny(string(piped), "\x1b") || regexp.MustCompile(`end.*\(`).Match(piped) {
		t.Errorf("in a pipe: %v\n%q", err, piped)
	}
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	always, err := dump("--color=always").Output()
	if got := colours.ReplaceAllString(string(always), ""); err != nil || got != string(piped) {
		t.Errorf("with colours: %v\n%q", err, got)
	}
	never := onTerminal(t, 80, dump("--color=never"))
	if strings.Contains(never, "\x1b") || !strings.Contains(never, "bad.end \"3\" (") {
		t.Errorf("without colours:\n%q", never)
	}
	golden := onTerminal(t, 80, exec.Command("ptrace-dump", "--golden", log))
	if strings.ContainsAny(golden, "\x1b") || regexp.MustCompile(`end.*\(`).MatchString(golden) {
		t.Errorf("golden:\n%q", golden)
	}
	annotated, err := exec.Command("ptrace-dump", "--annotate=rel", "--color=always", log).Output()
	if err != nil || !regexp.MustCompile("\x1b\\[33m +[0-9.]+ \x1b\\[0merr\n").Match(annotated) {
		t.Errorf("with times: %v\n%q", err, annotated)
	}
}
