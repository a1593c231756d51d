package stream

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// The C library has a second implementation of the writers. The tests whose names begin with TestC run
// it, in a program that they build, in streams that they make and read in Go.

// cParts are the files of the library that know nothing of files and directories, and what they need.
var cParts = []string{
	"abandoned", "append", "claim", "clock", "copy", "displaced", "horizon", "kernel", "loss", "maps", "mem", "openchunk",
	"park", "processor", "shard", "slots", "takeover", "tickoffset", "walk", "writer",
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
	tracetest.NeedProgram(t, ctest.CC()[0])
	tracetest.Only(t, ctest.Native(), "on the processor of the C programs")
	if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-fsanitize") }) {
		tracetest.Only(t, !strings.Contains(ctest.CC()[0], "musl"), "with a C library that the sanitizers know")
	}
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
	args := append(ctest.CC()[1:], "-std=gnu11", "-fno-strict-aliasing", "-I", lib, "-o", prog)
	args = append(append(args, ctest.CFlags()...), flags...)
	own, err := filepath.Glob("testdata/c/*.c")
	if err != nil || len(own) == 0 {
		t.Fatalf("%d files, %v", len(own), err)
	}
	args = append(args, own...)
	for _, part := range cParts {
		args = append(args, filepath.Join(lib, part+".c"))
	}
	args = append(args, "-pthread", "-lrt")
	if out, err := exec.Command(ctest.CC()[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", ctest.CC()[0], err, out)
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
