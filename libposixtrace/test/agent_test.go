package test

import (
	"path/filepath"
	"testing"

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
