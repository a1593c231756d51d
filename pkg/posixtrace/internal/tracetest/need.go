// Package tracetest holds what the tests of several packages share. Nothing but
// tests imports it.
package tracetest

import (
	"os"
	"testing"
)

// Need skips a test unless what it needs is there. It is the only way to skip
// one, and never silent: CI has everything, so that there it is a failure.
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
