package script_test

import (
	"os"
	"os/exec"
	"testing"
)

// needProgram skips a test if a program that it runs is missing.
func needProgram(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	need(t, err == nil, name)
}

// need skips a test if something it needs is missing. In CI, where scripts/check installs
// the programs, need fails the test.
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

// scale returns how often a test repeats something, like tracetest.Scale.
func scale(each, full, soak int) int {
	switch {
	case os.Getenv("POSIXTRACE_SOAK") != "":
		return soak
	case os.Getenv("POSIXTRACE_FULL") != "":
		return full
	}
	return each
}
