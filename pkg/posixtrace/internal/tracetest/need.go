// Package tracetest has helpers for the tests of several packages. Only tests import it.
package tracetest

import (
	"os"
	"testing"
)

// Need skips a test unless ok. Need and Only are the only ways to skip a test, and never
// silent: CI has everything a test may need, so there a skip by Need is a failure.
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

// Only skips a test unless ok, for a reason that does not hold in another run of the same
// tests, such as the race detector. That run has the test, so a skip is no failure in CI.
func Only(t testing.TB, ok bool, where string) {
	t.Helper()
	if !ok {
		t.Skipf("tested only %s", where)
	}
}

// OnlyWithoutRace is Only for a test of times, of instructions or of the runtime, which the
// race detector changes.
func OnlyWithoutRace(t testing.TB) {
	t.Helper()
	Only(t, !RaceEnabled, "without the race detector")
}

// NeedRoot is Need for a test that becomes another user, mounts a file system or
// makes a namespace.
func NeedRoot(t testing.TB) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root")
}
