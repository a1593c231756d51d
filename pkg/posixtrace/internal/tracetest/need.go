// Package tracetest has helpers for the tests of several packages. Only tests import it.
package tracetest

import (
	"os"
	"testing"
)

// Need skips a test unless ok. It is the only way to skip a test, and never silent: CI has
// everything a test may need, so there a skip is a failure.
func Need(t testing.TB, ok bool, what string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") != "":
		t.Fatalf("CI lacks what this test needs: %s", what)
	default:
		t.Skipf("NOT TESTED here, for lack of: %s", what)
	}
}

// NeedRoot is Need for a test that becomes another user, mounts a file system or
// makes a namespace.
func NeedRoot(t testing.TB) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root")
}
