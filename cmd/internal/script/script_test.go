// Package script_test tests the commands as programs: the scripts in testdata, the manual
// pages, completions, examples and messages.
package script_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/create"
	"github.com/posixtrace/posixtrace/cmd/internal/ctl"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/event"
	"github.com/posixtrace/posixtrace/cmd/internal/export"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
	"github.com/posixtrace/posixtrace/cmd/internal/run"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

var commands = []*cli.Command{run.Command, create.Command, ctl.Command, filter.Command, event.Command, dump.Command, diff.Command, export.Command}

// TestMain puts the commands into PATH, and this binary under the names of the helpers.
func TestMain(m *testing.M) { testscript.Main(withCommands{m}, helpers) }

type withCommands struct{ *testing.M }

// Run builds the commands, and runs the tests with their own trace directory. Tests that trace in
// this process would use the user's.
//
// The commands are the programs that users have, with the race detector if the tests have it. This
// binary as each of them would start three times slower: it initializes what the tests import.
func (m withCommands) Run() int {
	dir, err := os.MkdirTemp("", "posixtrace-tests-") // of mode 0700, as it must be
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("PTRACE_DIR", dir)
	bin, err := os.MkdirTemp("", "posixtrace-commands-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	defer ctest.Clean()
	if out, err := buildCommands(bin); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.M.Run()
}

func buildCommands(dir string) (output []byte, err error) {
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"}
	cgo := "CGO_ENABLED=0"
	if tracetest.RaceEnabled {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	for _, c := range commands {
		args = append(args, "../../"+c.Name)
	}
	build := exec.Command("go", args...)
	build.Env = append(os.Environ(), cgo)
	return build.CombinedOutput()
}

// openProgram opens a command or helper. Another user, who may not enter its directory, runs it as
// /proc/self/fd/N.
func openProgram(t testing.TB, name string) *os.File {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// scriptsDeadline bounds the run of all scripts; then commands that hang are killed.
const scriptsDeadline = 12 * time.Minute

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(scriptsDeadline),
		Setup:               setupTraceDir,
		Condition:           scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus,
		},
	})
}

// scriptCondition adds conditions to those of testscript. root: file systems can be
// mounted. ci: do not skip for a missing tool; scripts/check installs the tools. full:
// include what takes long (scripts/check --all).
func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "ci":
		return os.Getenv("CI") != "", nil
	case "root":
		return os.Geteuid() == 0, nil
	case "full":
		return os.Getenv("POSIXTRACE_FULL") != "", nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// Each condition of a script is known: testscript asks only where those before it hold, as where a tool is
// missing.
func TestConditions(t *testing.T) {
	list, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "script", "*.txtar"))
	if err != nil || len(list) == 0 {
		t.Fatalf("scripts: %q %v", list, err)
	}
	conditions := regexp.MustCompile(`(?m)^(?:\[[^] ]+\] *)+`)
	one := regexp.MustCompile(`\[!?([^]]+)\]`)
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range conditions.FindAllString(string(text), -1) {
			for _, m := range one.FindAllStringSubmatch(line, -1) {
				if m[1] == "linux" || strings.HasPrefix(m[1], "exec:") { // which testscript knows
					continue
				}
				if _, err := scriptCondition(m[1]); err != nil {
					t.Errorf("%s: %s: %v", filepath.Base(path), line, err)
				}
			}
		}
	}
}

// setupTraceDir gives a script its own trace directory, and an environment that does not
// change the output of commands. At the end it fails the script if a stream is left.
func setupTraceDir(env *testscript.Env) error {
	dir, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		return err
	}
	env.Setenv("PTRACE_DIR", dir)
	if src, err := filepath.Abs(filepath.Join("..", "..", "..")); err == nil {
		env.Setenv("SRC", src)
	}
	// For scripts that build: they set HOME to it.
	env.Setenv("REALHOME", os.Getenv("HOME"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "POSIXTRACE_FULL"} {
		env.Setenv(name, os.Getenv(name))
	}
	env.Setenv("TZ", "UTC")
	env.Setenv("LC_ALL", "C.UTF-8")
	golden, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "golden"))
	if err != nil {
		return err
	}
	env.Setenv("GOLDEN", golden) // the examples of golden files
	for _, name := range []string{"PTRACE_STREAM", "PTRACE_SPOOL", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "POSIXLY_CORRECT"} {
		env.Setenv(name, "")
	}
	// An empty POSIXLY_CORRECT or PTRACE_STREAM is the same as none.
	t := env.T()
	env.Defer(func() {
		left, err := filepath.Glob(filepath.Join(dir, "s-*"))
		if err == nil && len(left) > 0 {
			t.Log("streams left behind: ", strings.Join(left, " "))
			defer t.FailNow()
		}
		os.RemoveAll(dir)
	})
	return nil
}

// cmdStatus runs a command that must end with a status:
//
//	status 2 ptrace-dump --nonsense
//
// Death by signal N is status 128+N, as in a shell.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			got = 128 + int(ws.Signal())
		}
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}
