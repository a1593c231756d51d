package test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// Every trace point of a C++ program records: in constructors before main, in destructors after
// it, while exceptions unwind the stacks of several threads, and when a thread ends.
func TestExceptions(t *testing.T) {
	ctest.Need(t)
	tracetest.Only(t, ctest.Native(), "on the processor itself")
	program := ctest.Build(t, ctest.Program{Sources: []string{"testdata/exceptions.cc"}, CXX: true})
	bin := commands(t)
	dir, log := ctest.TraceDir(t), filepath.Join(t.TempDir(), "log.trace")
	if out, err := ctest.Command(t, dir, filepath.Join(bin, "ptrace-run"), "-o", log, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(bin, "ptrace-dump"), "-j", "--strict", "-e", "@user", log).Output()
	if err != nil {
		t.Fatal(err)
	}
	types, threads := map[string]int{}, map[int64]int{}
	for line := range strings.Lines(string(out)) {
		var e struct {
			Event string
			Tid   int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		types[e.Event]++
		threads[e.Tid]++
	}
	if want := map[string]int{"construct": 1, "destroy": 1, "unwind": 2400, "handle": 400, "leave": 4}; !maps.Equal(types, want) {
		t.Errorf("events %v, want %v", types, want)
	}
	counts := map[int]int{}
	for _, n := range threads {
		counts[n]++
	}
	if want := map[int]int{2: 1, 701: 4}; !maps.Equal(counts, want) {
		t.Errorf("threads by their number of events: %v, want %v", counts, want)
	}
}
