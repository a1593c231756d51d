package script_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A guide is run in one directory, from top to bottom: a block "```LANGUAGE FILE" is the content of
// a file, a block "```console" has commands after "$ " and what they print. Other blocks are not run.
//
// The output must be that of the guide but for numbers and the widths of columns, which are those
// of one machine. A table that is sorted by time may have other rows when the machine is busy, so a
// guide is run again in another directory, at most twice, or more often if the output says that the
// machine was busy. -update writes the output.
func TestGuides(t *testing.T) {
	for _, program := range []string{"jq", "make", "bash"} {
		_, err := exec.LookPath(program)
		tracetest.Need(t, err == nil, program)
	}
	guides, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "guides", "*.md"))
	if err != nil || len(guides) < 4 {
		t.Fatal(guides, err)
	}
	for _, path := range guides {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			const most = 8 // if the summary says so
			for try := 1; ; try++ {
				difference := runGuide(t, path)
				if difference == "" {
					return
				}
				starved := strings.Contains(difference, "the machine was bus") || strings.Contains(difference, " wait ")
				if try == most || try >= 3 && !starved {
					t.Fatal(difference)
				}
				t.Log(difference)
			}
		})
	}
}

// runGuide returns the first difference.
func runGuide(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(traces)
	record, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "ci"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "HOME="+dir, "LC_ALL=C", "TZ=UTC", "REV=4711", "COLUMNS=100",
		"PATH="+os.Getenv("PATH")+":"+record)
	var out strings.Builder
	lines := strings.SplitAfter(string(text), "\n")
	sessions := 0
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		info, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "```")
		if !ok || info == "" {
			continue
		}
		var block []string
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			block = append(block, lines[i])
		}
		if i == len(lines) {
			t.Fatalf("%s: a block has no end", path)
		}
		content := strings.Join(block, "")
		if _, name, ok := strings.Cut(info, " "); ok {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if info == "console" {
			got := runSession(t, dir, env, block)
			if *update {
				content = got
			} else if rough(got) != rough(content) {
				return fmt.Sprintf("the guide has\n%s\nand the commands print\n%s", content, got)
			}
			sessions++
		}
		out.WriteString(content)
		out.WriteString(lines[i])
	}
	if sessions == 0 {
		t.Errorf("%s has no example", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ""
}

// runSession runs the commands of a session in one shell and returns it with what they print.
func runSession(t *testing.T, dir string, env, block []string) string {
	var script strings.Builder
	for _, line := range block {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			script.WriteString("cat <<'---'\n" + line + "---\n" + command)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String()+"kill $! 2>/dev/null\n:\n")
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return out.String()
}

var (
	anyNumber = regexp.MustCompile(`(0x[0-9a-f]+|[0-9]+([.:][0-9]+)*)(ns|us|µs|ms|s|m|K|M|%)?\b`)
	blank     = regexp.MustCompile(`[ ─-]+|\.\.\.`)
)

// rough returns a text without numbers and widths.
func rough(s string) string { return blank.ReplaceAllString(anyNumber.ReplaceAllString(s, "#"), " ") }
