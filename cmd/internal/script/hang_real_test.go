package script_test

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// realHangs are commands of everyday work that do not end: the files that they need, by name, the programs, and
// what the first line of a summary says of the cause.
var realHangs = []struct {
	name     string
	command  string
	before   string // a command that makes ready
	programs string
	files    map[string]string
	want     []string
}{
	{"two locks in two rules of make", "make -j2", "", "make flock", map[string]string{"Makefile": `.PHONY: a b
all: a b
a:
	@flock la sh -c 'touch a; until [ -e b ]; do sleep 0.1; done; flock lb true'
b:
	@flock lb sh -c 'touch b; until [ -e a ]; do sleep 0.1; done; flock la true'
`}, []string{"deadlock: flock l", " for the lock of ", ", which is held by flock l"}},
	// The recipe takes the only token, for good; of the two rules inside, the first waits for the second.
	{"no token of make's job server", "make -j2", "mkfifo fifo", "make python3", map[string]string{"Makefile": "all:\n\t+@exec python3 keeps.py\n",
		"keeps.py": `import os, re, select
r = int(re.search(r"--jobserver-auth=(\d+)", os.environ["MAKEFLAGS"]).group(1))
select.select([r], [], [])
os.read(r, 1)
os.execvp("make", ["make", "-f", "inside.mk"])
`, "inside.mk": "all: first second\nfirst:\n\t@cat fifo\nsecond:\n\t@echo >fifo\n"},
		[]string{"make -f inside.mk waited ", " for a token of make's job server, pipe:"}},
	{"a channel in a test of Go", "go test .", "go test -run=none .", "go", map[string]string{"go.mod": "module example.org/hangs\n\ngo 1.24\n",
		"queue_test.go": `package hangs

import "testing"

func TestQueue(t *testing.T) {
	queue := make(chan int)
	<-queue
}
`}, []string{"hangs.test ", " waited "}},
	{"a port, in a script of npm", "npm run e2e", "", "npm node", map[string]string{"package.json": `{"name": "hangs", "version": "1.0.0", "scripts": {"e2e": "node wait.js"}}`,
		"wait.js": `const net = require('net');
function attempt() {
  net.connect(1, '127.0.0.1', () => process.exit(0)).on('error', () => setTimeout(attempt, 10000));
}
attempt();
`}, []string{"node wait.js waited ", ", for at most "}},
	{"a port, in a script of bash", "bash wait.sh", "", "bash", map[string]string{"wait.sh": `until (exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; do sleep 0.5; done
`}, []string{"sleep 0.5"}},
}

// The log of a real command that does not end names the cause, in each form of its summary.
func TestHangReal(t *testing.T) {
	for _, tt := range realHangs {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range strings.Fields(tt.programs) {
				tracetest.NeedProgram(t, name)
			}
			t.Parallel()
			dir := t.TempDir()
			for name, content := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			streams := filepath.Join(dir, "streams")
			if err := os.Mkdir(streams, 0o700); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "PTRACE_DIR="+streams, "PTRACE_STREAM=", "PTRACE_SPOOL=", "MAKEFLAGS=", "HANG_TEST="+dir,
				"GOFLAGS=", "GOTOOLCHAIN=local", "GOWORK=off", "npm_config_cache="+filepath.Join(dir, "npm"), "npm_config_update_notifier=false")
			run := func(name string, args ...string) string {
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = dir, env
				out, _ := cmd.Output()
				return string(out)
			}
			t.Cleanup(func() { killMarked("HANG_TEST=" + dir) })
			if tt.before != "" {
				run("sh", "-c", tt.before)
			}
			log := filepath.Join(dir, "x.trace")
			for limit := 2; ; limit *= 2 { // in less time a busy machine does not come to the hang
				os.Remove(log)
				run("sh", "-c", fmt.Sprintf("rm -f a b; ptrace-run -o x.trace -t %ds -k 5s -- %s 2>errors </dev/null", limit, tt.command))
				first, _, _ := strings.Cut(run("ptrace-dump", "-s", log), "\n")
				lacks := lackingText(first, tt.want)
				if lacks != "" && limit < 60 {
					continue
				}
				if lacks != "" || !strings.Contains(first, "timed out after ") {
					t.Fatalf("%q is not in the first line of\n%s", lacks, run("ptrace-dump", "-s", log))
				}
				t.Log(first)
				why := run("ptrace-dump", "--why", log)
				_, waited, _ := strings.Cut(why, "\nwaited: ")
				waited, _, _ = strings.Cut(waited, "\n")
				if lacks := lackingText(waited, tt.want); lacks != "" {
					t.Errorf("--why lacks %q:\n%s", lacks, why)
				}
				for _, form := range []string{"--junit", "--markdown"} {
					if out := html.UnescapeString(run("ptrace-dump", form, log)); lackingText(out, tt.want) != "" {
						t.Errorf("%s lacks %q:\n%s", form, lackingText(out, tt.want), out)
					}
				}
				return
			}
		})
	}
}

// lackingText returns the first part that a text does not have, "" if it has all.
func lackingText(text string, parts []string) string {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

// --hang reports a deadlock of make, which then goes on as before.
func TestHangIdleMake(t *testing.T) {
	tt := realHangs[0]
	for _, name := range strings.Fields(tt.programs) {
		tracetest.NeedProgram(t, name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(tt.files["Makefile"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ptrace-run", "-N", "0", "--hang=1s", "--", "make", "-j2")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "streams"), "PTRACE_STREAM=", "MAKEFLAGS=", "HANG_TEST="+dir)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killMarked("HANG_TEST=" + dir); cmd.Wait() })
	b := make([]byte, 64<<10)
	n, err := errs.Read(b) // a report is one write
	lines := strings.SplitN(string(b[:n]), "\n", 3)
	if err != nil || len(lines) < 3 || lines[0] != "ptrace-run: idle for 1s:" || lackingText(lines[1], []string{"deadlock: flock l", " for the lock of "}) != "" {
		t.Errorf("%v\n%s", err, b[:n])
	}
}
