package command

import (
	"os"
	"os/exec"
	"testing"
)

// needProgram skips a test that runs a program which is not there. In CI, whose
// scripts/check installs them all, it is a failure.
func needProgram(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("CI lacks what this test needs: %s", name)
	default:
		t.Skipf("NOT TESTED here, for lack of: %s", name)
	}
}
