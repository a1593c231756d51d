// Package tracetest has helpers for the tests of several packages. Only tests import it.
package tracetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
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

// ListVar names, in the environment, a file to which OnlyWithoutRace adds the directory and the
// name of each test that it skips. scripts/check runs those without the race detector.
const ListVar = "POSIXTRACE_ONLY_WITHOUT_RACE"

// OnlyWithoutRace skips, under the race detector, a test of times, of instructions or of the runtime, which the
// detector changes, and a test that the detector makes slow and that has nothing for it:
// a test of what single-threaded code accepts and prints.
func OnlyWithoutRace(t testing.TB) {
	t.Helper()
	if name := os.Getenv(ListVar); name != "" && RaceEnabled {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		test, _, _ := strings.Cut(t.Name(), "/")
		if _, err := fmt.Fprintln(f, dir, test); err != nil {
			t.Fatal(err)
		}
	}
	Only(t, !RaceEnabled, "without the race detector")
}

// NeedProgram needs a program that the test runs.
func NeedProgram(t testing.TB, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	Need(t, err == nil, name)
}

// NeedRoot needs root, for a test that becomes another user, mounts a file system or
// makes a namespace.
func NeedRoot(t testing.TB) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root")
}

// EmulatorVar names, in the environment, the program that runs the tests of another processor.
const EmulatorVar = "POSIXTRACE_EMULATOR"

// OnlyWithoutEmulator skips, under an emulator, a test that executes itself, which the kernel cannot do with
// a program of another processor.
func OnlyWithoutEmulator(t testing.TB) {
	t.Helper()
	Only(t, os.Getenv(EmulatorVar) == "", "on a processor of this kind")
}
