package test

import (
	"bytes"
	"fmt"
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

// These tests run the conformance suite as any user of it does, by its script, with an implementation that
// is given by CC, CFLAGS and LIBS alone.

// some are requirements of all sections, for the ordinary run: TestConformance runs all programs.
var some = []string{"LIM-01", "LIM-02", "LIM-12", "ATR-07", "ATR-12", "CRE-04", "CRE-07", "STA-07", "FUL-05",
	"SST-05", "MAP-02", "MAP-03", "EVT-03", "EVT-06", "SET-04", "FIL-03", "GET-14", "CLR-01", "LOG-02", "SHU-03",
	"OPN-07", "INH-01", "INH-02", "INH-15"}

// runSuite runs the script and returns its report, and its status.
func runSuite(t *testing.T, cflags, libs []string, env []string, args ...string) (string, int) {
	t.Helper()
	tracetest.Only(t, ctest.Native() && !ctest.Static() && !ctest.Sanitized(), "with the shared library")
	ctest.Need(t)
	agent := ctest.Agent(t)
	tracetest.OK(t, "Chmod", os.Chmod(filepath.Dir(agent), 0o711)) // another user runs it
	lib := ctest.Library(t)
	for _, pattern := range []string{"*.*", "run", "header/*"} { // so that go test sees changes of them
		sources, err := filepath.Glob(filepath.Join(suite, pattern))
		tracetest.OK(t, "Glob", err)
		for _, source := range sources {
			_, err := os.ReadFile(source)
			tracetest.OK(t, "ReadFile", err)
		}
	}
	cmd := exec.Command(filepath.Join(suite, "run"), args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "PTRACE_") || strings.HasPrefix(s, "POSIXTRACE_") || strings.HasPrefix(s, "CONFORM_")
	})
	cmd.Env = append(cmd.Env, env...)
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir(), "CC="+strings.Join(ctest.CC(), " "),
		"CFLAGS="+strings.Join(append(cflags, "-O0", "-I"+ctest.Source), " "),
		"LIBS="+strings.Join(append(libs, "-L"+lib, "-Wl,-rpath,"+lib, "-lposixtrace"), " "))
	if os.Geteuid() == 0 {
		tracetest.InOwnShm(t, cmd, 0) // its programs use the standard trace directories, of two users
	} else {
		cmd.Env = append(cmd.Env, "PTRACE_DIR="+ctest.TraceDir(t))
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, &out, &stderr)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// results are the tests of a report in TAP that the suite has made, by their result: "ok", "not ok", or the
// reason of "SKIP".
func results(t *testing.T, report string) map[string][]string {
	t.Helper()
	all, n := map[string][]string{}, 0
	line := regexp.MustCompile(`(?m)^(ok|not ok) ([0-9]+) - (\S[^#\n]*?)(?: # SKIP ([^:\n]+): .+)?$`)
	for _, m := range line.FindAllStringSubmatch(report, -1) {
		if n++; m[2] != fmt.Sprint(n) {
			t.Errorf("test %s is the %d. of\n%s", m[2], n, report)
		}
		result := m[1]
		if m[4] != "" {
			result = m[4]
		}
		all[result] = append(all[result], m[3])
	}
	if !strings.HasSuffix(report, fmt.Sprintf("\n1..%d\n", n)) {
		t.Errorf("the plan is not of %d tests:\n%s", n, report)
	}
	return all
}

func idOf(name string) string { id, _, _ := strings.Cut(name, "/"); return id }

// A suite without a compiler or a library to test says so, and reports no requirement as failed.
func TestSuiteThatCannotRun(t *testing.T) {
	for _, env := range []string{"CC=no-such-compiler", "LIBS=-lno-such-library"} {
		cmd := exec.Command(filepath.Join(suite, "run"), "CLR-01")
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "CC="+strings.Join(ctest.CC(), " "), "CFLAGS=-I"+ctest.Source, env)
		var report, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &report, &said
		if cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 || report.Len() > 0 || !strings.Contains(said.String(), "no-such-") {
			t.Errorf("%s: %v, report %q, message %q", env, cmd.ProcessState, &report, &said)
		}
	}
}

// TestSuite runs the suite as it is. Nothing of libposixtrace fails, and what no portable program can test
// is named.
func TestSuite(t *testing.T) {
	var ids []string
	if !tracetest.Full() {
		ids = some
	}
	report, status := runSuite(t, nil, nil, nil, append([]string{"--tap"}, ids...)...)
	all := results(t, report)
	if status != 0 || len(all["not ok"]) > 0 || len(all["not supported"]) > 0 {
		t.Errorf("status %d:\n%s", status, report)
	}
	for result, names := range all {
		t.Logf("%s: %d tests", result, len(names))
	}
	for _, id := range []string{"EVT-06", "INH-15"} {
		if !slices.ContainsFunc(all["not tested by a portable program"], func(n string) bool { return idOf(n) == id }) {
			t.Errorf("%s is not among those that no portable program tests:\n%s", id, report)
		}
	}
	wantRequirements(t, all, ids)
}

// wantRequirements checks that a report has the requirements that it was asked for, by default all.
func wantRequirements(t *testing.T, all map[string][]string, ids []string) {
	t.Helper()
	if ids == nil {
		b, err := os.ReadFile(filepath.Join(suite, "requirements.txt"))
		tracetest.OK(t, "ReadFile", err)
		ids = append(regexp.MustCompile(`(?m)^[A-Z]{3}-[0-9]{2}`).FindAllString(string(b), -1), "trace.h")
	}
	have := map[string]bool{}
	for _, names := range all {
		for _, n := range names {
			have[idOf(n)] = true
		}
	}
	for _, id := range ids {
		if !have[id] {
			t.Errorf("the report has no %s", id)
		}
	}
	if len(have) != len(ids) {
		t.Errorf("the report has %d requirements, want %d", len(have), len(ids))
	}
}

// faults are those of testdata/broken.c.
var faults = []string{"ATR-07", "CLR-01", "CRE-04", "EVT-03", "FIL-03", "GET-14", "INH-02", "MAP-03", "OPN-07", "SST-05", "STA-07"}

// TestSuiteFindsFaults runs it against a broken implementation: the requirement that forbids a fault finds it,
// and passes without.
func TestSuiteFindsFaults(t *testing.T) {
	ctest.Need(t)
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/broken.c")
	tracetest.OK(t, "Abs", err)
	b, err := os.ReadFile(source)
	tracetest.OK(t, "ReadFile", err)
	broken := filepath.Join(dir, "broken.o")
	cc := ctest.CC()
	out, err := exec.Command(cc[0], append(slices.Clone(cc[1:]), "-O1", "-Wall", "-Wextra", "-Werror", "-DPOSIXTRACE_NO_INLINE",
		"-I"+ctest.Source, "-c", "-o", broken, source)...).CombinedOutput()
	tracetest.OK(t, string(out), err)
	libs := []string{broken}
	for _, m := range regexp.MustCompile(`(?m)^WRAP\(\w+, (\w+),`).FindAllStringSubmatch(string(b), -1) {
		libs = append(libs, "-Wl,--wrap="+m[1])
	}
	// The fault of each test is that of its id.
	with := filepath.Join(dir, "with-fault")
	err = os.WriteFile(with, []byte("#!/bin/sh\nFAULT=${2%%/*} exec \"$@\"\n"), 0o700)
	tracetest.OK(t, "WriteFile", err)
	args := append([]string{"--tap"}, faults...)
	report, status := runSuite(t, []string{"-DPOSIXTRACE_NO_INLINE"}, libs, []string{"RUN=" + with}, args...)
	failed := map[string]bool{}
	for _, n := range results(t, report)["not ok"] {
		failed[idOf(n)] = true
	}
	if have := slices.Sorted(maps.Keys(failed)); status != 1 || !slices.Equal(have, faults) {
		t.Errorf("status %d: the faults of %v are found, want %v:\n%s", status, have, faults, report)
	}
	report, status = runSuite(t, []string{"-DPOSIXTRACE_NO_INLINE"}, libs, nil, args...)
	if status != 0 {
		t.Errorf("without a fault: status %d\n%s", status, report)
	}
	wantRequirements(t, results(t, report), faults)
}

// TestSuiteWithoutOptions runs it against implementations that lack options: they fail nothing for that.
func TestSuiteWithoutOptions(t *testing.T) {
	for _, profile := range []struct {
		name           string
		hide           []string
		lacks, has, of []string // requirements: not supported, passed, asked for in the ordinary run
	}{
		{"PSE52, without Trace Inherit", []string{"-DHIDE_INHERIT"}, []string{"ATR-12", "INH-01"}, []string{"INH-02", "ATR-07", "CRE-04", "LOG-02"}, some},
		{"Trace alone", []string{"-DHIDE_INHERIT", "-DHIDE_LOG", "-DHIDE_EVENT_FILTER"}, []string{"ATR-12", "INH-01", "LOG-02", "FIL-03"},
			[]string{"INH-02", "ATR-07", "LIM-01", "EVT-03"}, []string{"LIM-01", "ATR-07", "ATR-12", "EVT-03", "FIL-03", "INH-01", "INH-02", "LOG-02"}},
	} {
		t.Run(profile.name, func(t *testing.T) {
			dir, err := filepath.Abs("testdata/profile")
			tracetest.OK(t, "Abs", err)
			var ids []string
			if !tracetest.Full() {
				ids = profile.of
			}
			report, status := runSuite(t, append(profile.hide, "-I"+dir), nil, nil, append([]string{"--tap"}, ids...)...)
			all := results(t, report)
			if status != 0 || len(all["not ok"]) > 0 {
				t.Errorf("status %d:\n%s", status, report)
			}
			wantRequirements(t, all, ids)
			for result, names := range all {
				t.Logf("%s: %d tests", result, len(names))
			}
			has := func(result, id string) bool {
				return slices.ContainsFunc(all[result], func(n string) bool { return idOf(n) == id })
			}
			for _, id := range profile.lacks {
				if !has("not supported", id) {
					t.Errorf("%s is not among those that are not supported:\n%s", id, report)
				}
			}
			for _, id := range profile.has {
				if !has("ok", id) {
					t.Errorf("%s, which needs none of these options, does not pass:\n%s", id, report)
				}
			}
		})
	}
}

// TestSuiteStandsAlone checks that the programs of the suite use headers of the system and the suite, and nothing
// that only libposixtrace has.
func TestSuiteStandsAlone(t *testing.T) {
	includes := regexp.MustCompile(`(?m)^#include "([^"]+)"`)
	extension := regexp.MustCompile(`posixtrace_\w+|\w*POSIXTRACE_\w+|PTRACE_\w+`)
	n := 0
	for _, pattern := range []string{"*.c", "*.h", "header/*.c"} {
		files, err := filepath.Glob(filepath.Join(suite, pattern))
		tracetest.OK(t, "Glob", err)
		for _, file := range files {
			b, err := os.ReadFile(file)
			tracetest.OK(t, "ReadFile", err)
			n++
			for _, m := range includes.FindAllStringSubmatch(string(b), -1) {
				if m[1] != "conform.h" && m[1] != "options.h" {
					t.Errorf("%s includes %s", file, m[1])
				}
			}
			for _, word := range extension.FindAllString(string(b), -1) {
				t.Errorf("%s has %s, which is no part of the standard", file, word)
			}
		}
	}
	if n < 20 {
		t.Errorf("the suite has %d files", n)
	}
}

// TestSuiteHeader compares the header with the prototypes of the standard: the compiler accepts it, and rejects
// one that says something else.
func TestSuiteHeader(t *testing.T) {
	ctest.Need(t)
	b, err := os.ReadFile(filepath.Join(ctest.Source, "trace.h"))
	tracetest.OK(t, "ReadFile", err)
	mutations := []struct{ name, from, to string }{
		{"none", "", ""},
		{"a parameter is not const", "posix_trace_attr_getname(const trace_attr_t *,", "posix_trace_attr_getname(trace_attr_t *,"},
		{"a parameter is narrower", "posix_trace_attr_setstreamsize(trace_attr_t *, size_t)", "posix_trace_attr_setstreamsize(trace_attr_t *, int)"},
		{"a result is missing", "int posix_trace_flush(", "void posix_trace_flush("},
		{"two parameters are swapped", "posix_trace_eventset_add(trace_event_id_t, trace_event_set_t *)", "posix_trace_eventset_add(trace_event_set_t *, trace_event_id_t)"},
		{"a parameter is missing", "posix_trace_set_filter(trace_id_t, const trace_event_set_t *, int)", "posix_trace_set_filter(trace_id_t, const trace_event_set_t *)"},
		{"a member is missing", "\tint posix_log_full_status;\n", ""},
		{"a member is wider", "\tint posix_truncation_status;", "\tlong posix_truncation_status;"},
		{"a constant is missing", "#define POSIX_TRACE_APPEND 4\n", ""},
		{"two constants are one", "#define POSIX_TRACE_INHERITED 1", "#define POSIX_TRACE_INHERITED 0"},
		{"a limit is too low", "#define TRACE_SYS_MAX 1024", "#define TRACE_SYS_MAX 7"},
	}
	prototypes := filepath.Join(suite, "header/prototypes.c")
	_, err = os.ReadFile(prototypes) // so that go test sees changes of it
	tracetest.OK(t, "ReadFile", err)
	for _, m := range mutations {
		text := strings.Replace(string(b), m.from, m.to, 1)
		if (text == string(b)) != (m.name == "none") {
			t.Fatalf("%s: the header has no %q", m.name, m.from)
		}
		dir := t.TempDir()
		tracetest.OK(t, "WriteFile", os.WriteFile(filepath.Join(dir, "trace.h"), []byte(text), 0o600))
		cc := ctest.CC()
		out, err := exec.Command(cc[0], append(slices.Clone(cc[1:]), "-I"+dir, "-fsyntax-only", prototypes)...).CombinedOutput()
		if (err == nil) != (m.name == "none") {
			t.Errorf("%s: %v\n%s", m.name, err, out)
		}
	}
}
