package test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// The agent is no child, takes no descriptor, signal, terminal, directory or environment of the
// application, and needs none. The application's descriptors may all be closed or taken.
func TestAgentIsAGuest(t *testing.T) {
	program := agentProgram(t, "agent_guest.c")
	for _, what := range []string{"invisible", "apart", "no_descriptors", "closed", "signals", "subreaper"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctest.Run(t, program, what, filepath.Join(t.TempDir(), "log.trace"))
		})
	}
	t.Run("no_environment", func(t *testing.T) { // its streams are in the directory of the user
		t.Parallel()
		cmd := ctest.Command(t, ctest.TraceDir(t), program, "no_environment", filepath.Join(t.TempDir(), "log.trace"))
		tracetest.InOwnShm(t, cmd, 0)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	t.Run("early", func(t *testing.T) {
		t.Parallel()
		cmd := ctest.Command(t, ctest.TraceDir(t), program, "early")
		cmd.Env = append(cmd.Env, "EARLY=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

// A program that has changed its rights since its agent started cannot use the agent's.
func TestAgentGivesNoRights(t *testing.T) {
	tracetest.NeedRoot(t)
	ctest.Run(t, agentProgram(t, "agent_guest.c"), "rights")
}

// Without an agent, or with one that does not work, create and open fail with the error of execve(2), or EIO.
func TestAgentMissing(t *testing.T) {
	program := agentProgram(t, "agent_guest.c")
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string]syscall.Errno{
		filepath.Join(dir, "none"): syscall.ENOENT,
		plain:                      syscall.EACCES,
		"/bin/true":                syscall.EIO,
	} {
		cmd := ctest.Command(t, ctest.TraceDir(t), program, "missing", strconv.Itoa(int(want)))
		cmd.Env = append(cmd.Env, "POSIXTRACE_AGENT="+agent)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("agent %s: %v\n%s", agent, err, out)
		}
	}
}
