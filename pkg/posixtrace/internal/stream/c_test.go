package stream

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The C library has a second implementation of the writers. The tests whose names begin with TestC run
// it, in a program that they build, in streams that they make and read in Go.

// cParts are the files of the library that know nothing of files and directories, and what they need.
var cParts = []string{
	"abandoned", "aside", "claim", "clock", "copy", "crowd", "horizon", "kernel", "leave", "loss", "mem", "openchunk",
	"processor", "recover", "shard", "shift", "slots", "walk", "writer",
}

// cBuilt are the programs built so far, by flags.
var cBuilt struct {
	mu    sync.Mutex
	dir   string
	progs map[string]string
}

// cPeer returns the path of the test program in C, built with more flags.
func cPeer(t testing.TB, flags ...string) string {
	t.Helper()
	tracetest.NeedProgram(t, "cc")
	cBuilt.mu.Lock()
	defer cBuilt.mu.Unlock()
	key := strings.Join(flags, " ")
	if prog, ok := cBuilt.progs[key]; ok {
		return prog
	}
	if cBuilt.dir == "" {
		dir, err := os.MkdirTemp("", "stream-test-c-")
		if err != nil {
			t.Fatal(err)
		}
		cBuilt.dir, cBuilt.progs = dir, make(map[string]string)
	}
	const lib = "../../../../libposixtrace"
	prog := filepath.Join(cBuilt.dir, fmt.Sprint("peer", len(cBuilt.progs)))
	args := append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I", lib, "-o", prog}, flags...)
	own, err := filepath.Glob("testdata/c/*.c")
	if err != nil || len(own) == 0 {
		t.Fatalf("%d files, %v", len(own), err)
	}
	args = append(args, own...)
	for _, part := range cParts {
		args = append(args, filepath.Join(lib, part+".c"))
	}
	args = append(args, "-pthread", "-lrt")
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	cBuilt.progs[key] = prog
	return prog
}

// removeCPeers removes the programs.
func removeCPeers() {
	if cBuilt.dir != "" {
		os.RemoveAll(cBuilt.dir)
	}
}
