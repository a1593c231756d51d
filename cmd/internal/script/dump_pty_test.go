package script_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	late := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
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
