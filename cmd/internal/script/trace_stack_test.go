package script_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// tracedStacks runs a program that writes, in each call of write(2), a line with the addresses to which
// the functions around it return. It returns these and the stacks that were recorded.
func tracedStacks(t *testing.T, dir string, argv ...string) (said, recorded [][]string, cut []bool) {
	t.Helper()
	log, traces := filepath.Join(dir, "log"), filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	defer reap(t, "PTRACE_DIR="+traces)
	cmd := exec.Command("ptrace-run", append([]string{"-o", log, "-e", "syscall.write", "--stack", "--"}, argv...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		said = append(said, strings.Fields(line))
	}
	out, err = exec.Command("ptrace-dump", "-j", "-e", "syscall.write", log).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var e struct {
			Args  []string
			Stack []struct {
				Address              string
				Interrupted, Guessed bool
			}
			Cut bool `json:"stack_cut"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Args[0] != "1" {
			continue
		}
		var list []string
		for _, f := range e.Stack {
			if f.Guessed {
				t.Errorf("a frame was guessed: %s", line)
			}
			list = append(list, f.Address)
		}
		recorded, cut = append(recorded, list), append(cut, e.Cut)
	}
	if len(said) == 0 || len(said) != len(recorded) {
		t.Fatalf("%d lines, %d stacks", len(said), len(recorded))
	}
	return said, recorded, cut
}

// compareStacks compares what a program says of its callers with what was recorded. The program's list
// begins with the function that makes the call, whose address is another one.
func compareStacks(t *testing.T, said, recorded [][]string, cut []bool) {
	t.Helper()
	const most = 128
	for i := range said {
		want, got := said[i][1:], recorded[i]
		at := slices.Index(got, want[0])
		if at < 1 {
			t.Errorf("call %d: %v, want the end %v", i, got, want)
			continue
		}
		got = got[at:]
		if deep := at-1+len(want) > most; deep != cut[i] {
			t.Errorf("call %d: cut is %v; %d of %d callers", i, cut[i], len(got), len(want))
		} else if deep && at-1+len(got) == most {
			want = want[:len(got)]
		}
		if !slices.Equal(got, want) {
			t.Errorf("call %d: %v, want %v", i, got, want)
		}
	}
}

// The recorded callers are those that the C library finds: in programs of each kind, in callbacks,
// libraries that are loaded later and removed, threads, children, and signal handlers on another stack.
func TestStackOfC(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "gcc")
	for _, c := range []struct {
		name  string
		flags string
	}{
		{"plain", "-O2 -fomit-frame-pointer"},
		{"unoptimized", "-O0 -fno-omit-frame-pointer"},
		{"fixed address", "-O2 -no-pie"},
		{"stripped", "-O2 -s"},
		{"static", "-O2 -static"},
		{"static-pie", "-O2 -static-pie"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			compile := func(args ...string) {
				t.Helper()
				if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
					t.Fatalf("gcc: %v: %s", err, out)
				}
			}
			flags := append(strings.Fields(c.flags), "-w", "-fno-optimize-sibling-calls", "-pthread")
			source := filepath.Join("testdata", "stack")
			prog := filepath.Join(dir, "prog")
			if !strings.Contains(c.flags, "-static") {
				compile("-O2", "-shared", "-fPIC", "-o", filepath.Join(dir, "lib.so"), filepath.Join(source, "lib.c"))
				flags = append(flags, "-DLIB", "-ldl")
			}
			compile(append([]string{"-o", prog, filepath.Join(source, "stack.c")}, flags...)...)
			said, recorded, cut := tracedStacks(t, dir, prog)
			compareStacks(t, said, recorded, cut)
		})
	}
}

// The recorded callers are those that Go's runtime finds, in a program with a symbol table or without.
func TestStackOfGo(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, args := range []string{"", "-ldflags=-s -w", "-buildmode=pie"} {
		t.Run("go build "+args, func(t *testing.T) {
			dir := t.TempDir()
			prog := filepath.Join(dir, "prog")
			build := exec.Command("go", slices.DeleteFunc([]string{"build", "-o", prog, args, filepath.Join("testdata", "stack", "stack.go")}, func(s string) bool { return s == "" })...)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			said, recorded, cut := tracedStacks(t, dir, prog)
			compareStacks(t, said, recorded, cut)
		})
	}
}
