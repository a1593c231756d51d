package test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// suite is the directory of the conformance suite, which any implementation can run.
var suite = filepath.Join(ctest.Source, "conformance")

// conformanceSources are the C files of the tests of each requirement: those of the suite, and those
// that need our own files.
func conformanceSources(t *testing.T) []string {
	t.Helper()
	var sources []string
	for _, dir := range []string{suite, "testdata/conformance"} {
		list, err := filepath.Glob(filepath.Join(dir, "*.c"))
		tracetest.OK(t, "Glob", err)
		sources = append(sources, list...)
	}
	return sources
}

// conformance builds the program, with its agent.
func conformance(t *testing.T) string {
	t.Helper()
	agent := ctest.Agent(t)
	// For the tests in which another user runs it.
	tracetest.OK(t, "Chmod", os.Chmod(filepath.Dir(agent), 0o711))
	return ctest.Build(t, ctest.Program{Sources: conformanceSources(t), Flags: []string{
		"-D_GNU_SOURCE=", "-I", suite, "-include", "testdata/conformance/ours.h"}})
}

// TestConformance runs the tests of each requirement in C, named as in package conformance. That
// package checks that every requirement has one, by the TEST lines of the sources.
func TestConformance(t *testing.T) {
	program := conformance(t)
	list, err := ctest.Command(t, ctest.TraceDir(t), program, "-list").Output()
	tracetest.OK(t, "list", err)
	names := strings.Fields(strings.ReplaceAll(string(list), " ", "\x00"))
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "\x00", " ")
	}
	wantTests(t, names)
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runConformance(t, program, name)
		})
	}
}

// wantTests checks that the program has exactly the tests that its sources define.
func wantTests(t *testing.T, names []string) {
	t.Helper()
	have, want := map[string]int{}, map[string]int{}
	for _, n := range names {
		have[n]++
	}
	line := regexp.MustCompile(`(?m)^TEST\(([A-Z]{3})_([0-9]{2})\w*, "([^"]*)"\)`)
	for _, path := range conformanceSources(t) {
		b, err := os.ReadFile(path)
		tracetest.OK(t, "ReadFile", err)
		for _, m := range line.FindAllStringSubmatch(string(b), -1) {
			want[strings.TrimSuffix(m[1]+"-"+m[2]+"/"+m[3], "/")]++
		}
	}
	if !maps.Equal(have, want) {
		t.Errorf("the program has the tests %v, its sources %v", have, want)
	}
}

// runConformance runs one test in directories of its own.
func runConformance(t *testing.T, program, name string) {
	tracetest.Only(t, name != "LIM-19" || !ctest.Sanitized(),
		"without AddressSanitizer, which does not know that a cancelled thread gives up its stack")
	dir := ctest.TraceDir(t)
	cmd := ctest.Command(t, dir, program, name)
	if strings.HasPrefix(name, "INH-16") && os.Geteuid() == 0 {
		tracetest.InOwnShm(t, cmd, 0) // a set-uid program of the test uses the standard trace directory
	}
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Env, "CONFORM_CHOICES=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// Peers may outlive the test for a moment, and hold its output open.
	cmd.WaitDelay = 1
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		tracetest.Need(t, false, strings.TrimSpace(out.String()))
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("%v\n%s", err, &out)
	}
}
