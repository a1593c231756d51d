package script_test

import (
	"os"
	"os/exec"
	"testing"
)

// needProgram skips a test that runs a program which is not there.
func needProgram(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	need(t, err == nil, name)
}

// need skips a test unless what it needs is there. In CI, which has everything and whose
// scripts/check installs the programs, it is a failure.
func need(t *testing.T, ok bool, what string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") != "":
		t.Fatalf("CI lacks what this test needs: %s", what)
	default:
		t.Skipf("NOT TESTED here, for lack of: %s", what)
	}
}

// scale is how often a test does a thing, as tracetest.Scale has it.
func scale(each, full, soak int) int {
	switch {
	case os.Getenv("POSIXTRACE_SOAK") != "":
		return soak
	case os.Getenv("POSIXTRACE_FULL") != "":
		return full
	}
	return each
}
