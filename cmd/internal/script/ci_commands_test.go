package script_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// ciCommands finds the commands of CI systems in a line of a job's log, as these systems do.
var ciCommands = map[string]*regexp.Regexp{
	"GitHub Actions":  regexp.MustCompile(`^\s*::|##\[`),
	"Azure Pipelines": regexp.MustCompile(`##vso\[|##\[`),
	"TeamCity":        regexp.MustCompile(`##teamcity\[`),
	"Octopus Deploy":  regexp.MustCompile(`##octopus\[`),
	"MyGet":           regexp.MustCompile(`##myget\[`),
	"Travis CI":       regexp.MustCompile(`travis_(fold|time):`),
	"GitLab":          regexp.MustCompile(`section_(start|end):[0-9]+:[A-Za-z0-9_.-]+`), // it also needs \r\e[0K behind it
	"Jenkins":         regexp.MustCompile(`\x1b\[8mha:`),
	"Buildkite":       regexp.MustCompile(`^(---|\+\+\+|~~~)\s|^\^\^\^\s+\+\+\+|\x1b(_bk;|\]133[78];)`),
}

// ciColours are what Buildkite removes from a line before it looks for a command.
var ciColours = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")

// ciTexts are commands of each system.
var ciTexts = []string{
	"::error::x", "  ::set-output name=x::y", "##[error]x", "##vso[task.setvariable variable=PATH]x", "##teamcity[testFailed name='x']", "##octopus[setVariable]", "##myget[message]",
	"travis_fold:start:x", "travis_time:start:x", "section_start:1560896352:x\r\x1b[0K", "\x1b[0Ksection_end:1560896353:x\r\x1b[0K", "\x1b[8mha:////AAAA\x1b[0m",
	"--- x", "+++ x", "~~~ x", "^^^ +++", "\x1b_bk;t=1\x07", "\x1b]1338;url=x\x07",
}

// wantNoCommand checks each line of what a command prints, as a program that splits it at carriage
// returns, too.
func wantNoCommand(t *testing.T, what string, out []byte) {
	t.Helper()
	found := 0
	for _, line := range strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' }) {
		for system, re := range ciCommands {
			for _, l := range []string{line, ciColours.ReplaceAllString(line, "")} {
				if at := re.FindStringIndex(l); at != nil && found < 3 {
					found++
					t.Errorf("%s: a command of %s: %.100q", what, system, l[max(0, at[0]-20):])
					break
				}
			}
		}
	}
}

// No form of a log, no summary and no message is a command of a CI system, whatever the names, data,
// arguments and output are, and where a line has them.
func TestCICommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_STREAM=", "PTRACE_DIR="+filepath.Join(dir, "streams"), "TERM=xterm")
	var texts []string
	for _, text := range ciTexts {
		texts = append(texts, text, "x "+text, "2026-11-27T03:00:00Z "+text, "x\r"+text, "\x1b[31m"+text+"\x1b[0m", "\t"+text)
	}
	if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	var lines, few, batch bytes.Buffer
	for i, text := range texts {
		lines.WriteString(text + "\n")
		if i%6 == 0 {
			few.WriteString(text + "\n")
		}
		if name := strings.Map(func(r rune) rune {
			if r < ' ' {
				return -1
			}
			return r
		}, text); i%6 == 0 {
			batch.WriteString(name + "\t" + name + "\n" + name + ".begin\t" + name + "\n" + name + ".end\n")
		}
	}
	for name, b := range map[string][]byte{"lines": lines.Bytes(), "few": few.Bytes(), "batch": batch.Bytes(), "script": []byte(`ptrace-event --batch <batch
cat lines; cat lines >&2
while IFS= read -r l; do ptrace-event -r "$l" sh -c 'echo "$0"; echo "$0" >&2; exit 7' "$l"; done <few
sh -c 'cat lines; exit 3' '::x'
`)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) || bytes.Contains(out, []byte("goroutine ")) {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return out
	}
	const record = "ptrace-run -c -e proc,signal,%file --stream-size=16M -o "
	run("sh", "-c", record+"a.trace sh script >/dev/null 2>&1")
	run("sh", "-c", record+"b.trace sh -c 'tac lines; cat lines >&2; exit 1' >/dev/null 2>&1")
	all := append([][]string{{}, {"--format=%d"}, {"--format=%n"}, {`--format=%t\n%d`}, {`--format=::notice::%n\n%d`}, {"--annotate=rel", "--color=always"}, {"--annotate=cost"}, {"--replay=1000000000", "--color=always"},
		{"--golden", "--format=%d"}, {"-s", "--color=always"}, {"--junit", "--failed"}, {"--markdown", "--top=0"}, {"--time=none", "--stack"}}, forms...)
	for _, form := range all {
		if form = append(form, "a.trace"); form[0] != "--html" {
			out := run(append([]string{"ptrace-dump"}, form...)...)
			if strings.HasPrefix(form[0], "--format=::") {
				out = regexp.MustCompile(`(?m)^::notice::`).ReplaceAll(out, []byte("notice: ")) // what the user asked for
			}
			wantNoCommand(t, strings.Join(form, " "), out)
		}
	}
	for _, args := range [][]string{
		{"ptrace-diff", "a.trace", "b.trace"}, {"ptrace-diff", "--json", "a.trace", "b.trace"}, {"ptrace-diff", "--markdown", "a.trace", "b.trace"}, {"ptrace-diff", "--output", "a.trace", "b.trace"},
		{"ptrace-filter", "-i", "a.trace", "-l"}, {"ptrace-export", "--to=otlp", "-o", "-", "a.trace"},
		{"/bin/sh", "-c", "ptrace-run --why -c -e proc -o why.trace sh -c 'sh script; exit 1' 2>&1 >/dev/null | sed -n '/^verdict: /,$p'"},
		{"sh", "-c", "ptrace-run -c -e proc,%file --live=live.out --summary --dump=always -N 5000 --stream-size=16M sh script 2>&1 >/dev/null"}, {"cat", "live.out"},
	} {
		out := run(args...)
		if args[0] == "sh" {
			// Standard error also has what the command writes to it, before that.
			i := bytes.Index(out, []byte("\nptrace-run: "))
			if i < 0 {
				t.Fatalf("%.400q", out[max(0, len(out)-400):])
			}
			out = out[i+1:]
		}
		wantNoCommand(t, strings.Join(args, " "), out)
	}
	for i, text := range texts {
		if i%6 > 0 && !tracetest.Full() {
			continue
		}
		for _, args := range [][]string{
			{"ptrace-dump", text}, {"ptrace-dump", "--" + text}, {"ptrace-export", "--to=ctf", "-o", text, text}, {"ptrace-ctl", text}, {"ptrace-event", "-S", text, "x"},
			{"ptrace-run", "--", text}, {"ptrace-dump", "-e", text, "b.trace", "--format=x"},
		} {
			wantNoCommand(t, strings.Join(args, " "), run(args...))
		}
	}
	// Other text stays as it is.
	plain := "diff --git a/f b/f\n@@ -1 +1 @@\n-a::b\n+## heading [x] ##\n a##b[0] :: section\n- item\n+ item\n-- x\n~~~\n"
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte(plain+"--- a/f\n+++ b/f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("sh", "-c", "ptrace-run -c -o d.trace cat plain >/dev/null")
	if got, want := string(run("ptrace-dump", "-e", "output.*", "--format=%d", "d.trace")), plain+"---\\x20a/f\n+++\\x20b/f\n"; got != want {
		t.Errorf("ordinary text: %q, want %q", got, want)
	}
}
