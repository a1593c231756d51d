package test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

var updateABI = flag.Bool("update-abi", false, "record the ABI of the library in testdata/stable")

// What a program that was linked with the last release finds in the library is still there, and is
// the same: functions, their types, and the layout of what they point to. abidiff(1) knows that a
// changed library differs.
func TestABI(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.Only(t, runtime.GOARCH == "amd64", "on amd64, whose ABI is recorded")
	tracetest.NeedProgram(t, "abidiff")
	tracetest.NeedProgram(t, "gcc")
	recorded := filepath.Join(ctest.Root, "testdata", "stable", "libposixtrace.abi")
	build := func(source string) string {
		t.Helper()
		dir := t.TempDir()
		cmd := exec.Command("make", "-s", "-j2", "-C", source, "BUILD="+dir, "CC=gcc", "CFLAGS=-O1 -g", filepath.Join(dir, "libposixtrace.so.1"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make: %v\n%s", err, out)
		}
		return filepath.Join(dir, "libposixtrace.so.1")
	}
	lib := build(ctest.Source)
	if *updateABI {
		public := t.TempDir() // all types but those of this directory are private
		text, err := os.ReadFile(filepath.Join(ctest.Source, "trace.h"))
		if err == nil {
			err = os.WriteFile(filepath.Join(public, "trace.h"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("abidw", "--headers-dir", public, "--drop-private-types", "--exported-interfaces-only",
			"--no-comp-dir-path", "--no-corpus-path", "--no-show-locs", "--out-file", recorded, lib).CombinedOutput()
		if err != nil {
			t.Fatalf("abidw: %v\n%s", err, out)
		}
	}
	compare := func(lib string) (string, int) {
		t.Helper()
		// Without directories of headers: with them, abidiff calls every change private.
		cmd := exec.Command("abidiff", "--no-added-syms", recorded, lib)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, status := compare(lib); status != 0 {
		t.Errorf("the ABI has changed, abidiff's status is %d:\n%s", status, out)
	}

	// A library without a function, and with another layout of a structure.
	changed := filepath.Join(t.TempDir(), "libposixtrace")
	if err := os.CopyFS(changed, os.DirFS(ctest.Source)); err != nil {
		t.Fatal(err)
	}
	edit := func(name, old, to string) {
		t.Helper()
		name = filepath.Join(changed, name)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		after := strings.Replace(string(text), old, to, 1)
		if after == string(text) {
			t.Fatalf("%s: no %q", name, old)
		}
		if err := os.WriteFile(name, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit("posixtrace.map", "\tposix_trace_flush;\n", "")
	edit("trace.h", "\tpid_t posix_pid;\n", "\tpid_t posix_pid;\n\tlong posix_new;\n")
	out, status := compare(build(changed))
	for _, want := range []string{"1 Removed", "posix_trace_flush", "posix_trace_event_info", "posix_new"} {
		if status == 0 || !strings.Contains(out, want) {
			t.Errorf("a changed library: status %d, no %q in\n%s", status, want, out)
		}
	}
}
