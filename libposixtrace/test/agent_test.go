package test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// agentProgram builds a program that needs the agent.
func agentProgram(t *testing.T, source string, flags ...string) string {
	t.Helper()
	ctest.Need(t)
	ctest.Agent(t)
	return ctest.C(t, filepath.Join("testdata", source), flags...)
}

// The calls of the controller and the analyzer do what the standard says, in one process, and leave
// errno alone.
func TestAgentServesAllCalls(t *testing.T) {
	ctest.Run(t, agentProgram(t, "agent_basic.c"), filepath.Join(t.TempDir(), "log.trace"))
}

// The same with the sanitizers, and under valgrind, where the library's processes share no memory.
func TestAgentChecked(t *testing.T) {
	ctest.Need(t)
	ctest.Agent(t)
	sources := []string{filepath.Join("testdata", "agent_basic.c")}
	t.Run("sanitizers", func(t *testing.T) {
		t.Parallel()
		tracetest.Only(t, ctest.Native(), "on this processor")
		program := ctest.Build(t, ctest.Program{Sources: sources, Sanitize: true})
		ctest.Run(t, program, filepath.Join(t.TempDir(), "log.trace"))
	})
	t.Run("valgrind", func(t *testing.T) {
		t.Parallel()
		tracetest.Only(t, ctest.Native() && !ctest.Sanitized() && !ctest.Static(), "in a plain program on this processor")
		tracetest.NeedProgram(t, "valgrind")
		program := agentProgram(t, "agent_basic.c")
		ctest.Run(t, "/usr/bin/env", "valgrind", "-q", "--error-exitcode=9", program, filepath.Join(t.TempDir(), "log.trace"))
	})
}

// A controller in a pid namespace of its own has its agent there. With the /proc of another namespace,
// where other processes have its numbers, create fails.
func TestAgentInPidNamespace(t *testing.T) {
	program := agentProgram(t, "agent_basic.c")
	for _, proc := range []bool{true, false} {
		log := filepath.Join(t.TempDir(), "log.trace")
		// The shell is process 1, which adopts the agent.
		cmd := ctest.InPidNamespace(t, ctest.Command(t, ctest.TraceDir(t), "/bin/sh", "-c", `"$@"; exit $?`, "sh", program, log), proc)
		out, err := cmd.CombinedOutput()
		if proc && err != nil || !proc && !bytes.Contains(out, []byte(" is 1 (")) {
			t.Errorf("own /proc %v: %v\n%s", proc, err, out)
		}
	}
}
