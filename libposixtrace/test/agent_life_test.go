package test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// started starts a program of agent_life.c that says "ready" and then waits.
func started(t *testing.T, dir, what, log string) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := ctest.Command(t, dir, agentProgram(t, "agent_life.c"), what, log)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	tracetest.OK(t, "pipe", err)
	in, err := cmd.StdinPipe()
	tracetest.OK(t, "pipe", err)
	tracetest.OK(t, "start", cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, in
}

// sealed reports whether a log is complete, and changes nothing about it.
func sealed(t *testing.T, log string) bool {
	t.Helper()
	f, err := os.Open(log)
	tracetest.OK(t, "open", err)
	defer f.Close()
	r, err := posixtrace.NewReader(struct{ io.Reader }{f})
	if err != nil {
		return false
	}
	defer r.Close()
	for _, err := range r.All() {
		if err != nil {
			return false
		}
	}
	state, _ := r.State()
	return state == posixtrace.LogFinished
}

// opens reports whether a log opens, as for any program that comes by.
func opens(t *testing.T, log string) error {
	t.Helper()
	f, err := os.Open(log)
	tracetest.OK(t, "open", err)
	defer f.Close()
	l, err := posixtrace.Open(f)
	if err == nil {
		l.Close()
	}
	return err
}

// The agent completes the log of a controller that was killed, that executed another program, or that has
// ended without a shutdown, even if no other process looks.
func TestControllerEnds(t *testing.T) {
	for _, what := range []string{"wait", "exec", "exit"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir, log := ctest.TraceDir(t), filepath.Join(t.TempDir(), "log.trace")
			switch what {
			case "wait":
				cmd, _ := started(t, dir, what, log)
				tracetest.OK(t, "kill", cmd.Process.Kill())
				cmd.Wait()
			case "exec":
				cmd, in := started(t, dir, what, log)
				defer cmd.Wait()
				defer in.Close()
			case "exit":
				tracetest.OK(t, "run", ctest.Command(t, dir, agentProgram(t, "agent_life.c"), what, log).Run())
			}
			tracetest.Wait(t, "a complete log", func() bool { return sealed(t, log) })
			tracetest.Wait(t, "no stream", func() bool {
				left, _ := filepath.Glob(filepath.Join(dir, "s-*"))
				return len(left) == 0
			})
		})
	}
}

// An observer that comes at once after the controller's death finds no stream undone: the log opens.
func TestControllerEndsForObservers(t *testing.T) {
	dir := ctest.TraceDir(t)
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	for range 5 {
		log := filepath.Join(t.TempDir(), "log.trace")
		tracetest.OK(t, "run", ctest.Command(t, dir, agentProgram(t, "agent_life.c"), "exit", log).Run())
		if err := opens(t, log); err != nil {
			t.Fatal(err)
		}
		if list, err := posixtrace.List(); err != nil || len(list) > 0 {
			t.Fatal(list, err)
		}
	}
}

// Calls end with an error when the agent is killed; a child of fork has no streams of its parent; an agent
// without work ends.
func TestAgentLife(t *testing.T) {
	for _, what := range []string{"agent_killed", "agent_ends_slowly", "forked", "unused"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctest.Run(t, agentProgram(t, "agent_life.c"), what, filepath.Join(t.TempDir(), "log.trace"))
		})
	}
}
