package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that uses pkg/posixtrace connects to the stream in $PTRACE_STREAM before main.
// The commands, which scripts start many times with that variable set, do not.
func TestCommandsUntraced(t *testing.T) {
	const (
		refuses  = "init github.com/posixtrace/posixtrace/cmd/internal/startup/original "
		connects = "init github.com/posixtrace/posixtrace/pkg/posixtrace "
		script   = `for c; do "$c" --version >/dev/null & p=$!; wait $p || exit; ls "$PTRACE_DIR"/p-$p-* 2>/dev/null; done; :`
	)
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(traces)
	args := []string{"-o", filepath.Join(t.TempDir(), "l.trace"), "sh", "-c", script, "sh"}
	for _, c := range commands {
		args = append(args, c.Name)
		cmd := exec.Command(c.Name, "--version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "PTRACE_STREAM=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.Name, err, out)
		}
		first, then := strings.Index(string(out), refuses), strings.Index(string(out), connects)
		if first < 0 || then < first {
			t.Errorf("%s: pkg/posixtrace is initialized before it is refused to connect:\n%s", c.Name, out)
		}
	}
	cmd := exec.Command("ptrace-run", args...)
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(out) > 0 {
		t.Errorf("pages of commands:\n%s", out)
	}
}
