package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestEnabled(t *testing.T) {
	id, other := MustEventID("enabled.one"), MustEventID("enabled.other")
	check := func(when string, id EventID, want bool) {
		t.Helper()
		if got := Enabled(id); got != want {
			t.Errorf("Enabled(%d) %s = %v, want %v", id, when, got, want)
		}
	}
	check("without a stream", id, false)
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	check("of a suspended stream", id, false)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	check("of a running stream", id, true)
	check("of a running stream", EventUnnamed, true)
	for _, bad := range []EventID{0, EventStart, EventProcExec, 3000, ^EventID(0)} {
		check("of an id that Event ignores", bad, false)
	}
	if err := s.SetFilter(filterOf(t, id), FilterSet); err != nil {
		t.Fatal(err)
	}
	check("rejected by the filter", id, false)
	check("beside a rejected type", other, true)
	second := running(t, 0, Attr{})
	check("rejected by one of two streams", id, true)
	if err := second.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	check("after Stop", other, false)
}

func filterOf(t *testing.T, ids ...EventID) (set EventSet) {
	t.Helper()
	for _, id := range ids {
		if err := set.Add(id); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// Enabled and Event cost a load and a branch in a process that no stream traces, because the compiler
// inlines them.
func TestTracePointsAreInlined(t *testing.T) {
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range []string{"Event", "Enabled"} {
		if !strings.Contains(string(out), ": can inline "+name+"\n") {
			t.Errorf("the compiler does not inline %s", name)
		}
	}
}

func BenchmarkEnabledUntraced(b *testing.B) {
	id, err := OpenEventID("bench.event")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if Enabled(id) {
			Event(id, fmt.Appendf(nil, "number %d", i))
		}
	}
}

func BenchmarkEnabledFiltered(b *testing.B) {
	s, id := benchStream(b, Attr{})
	var set EventSet
	set.Add(id)
	if err := s.SetFilter(set, FilterSet); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if Enabled(id) {
			Event(id, fmt.Appendf(nil, "number %d", i))
		}
	}
}

func TestMustEventID(t *testing.T) {
	want, err := OpenEventID("enabled.must")
	if err != nil {
		t.Fatal(err)
	}
	if id := MustEventID("enabled.must"); id != want || id.Unnamed() {
		t.Errorf("MustEventID = %d, want %d", id, want)
	}
	func() {
		defer func() {
			if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "posixtrace: MustEventID(") {
				t.Errorf("a name that is too long: %q", p)
			}
		}()
		MustEventID(strings.Repeat("x", EventNameMax+1))
		t.Error("no panic for a name that is too long")
	}()
	tracetest.RunHelper(t, nil, "must-nowhere")
}

func init() {
	tracetest.Helpers["must-nowhere"] = func([]string) {
		os.Setenv("PTRACE_DIR", "/proc/no such directory")
		_, err := OpenEventID("enabled.nowhere")
		tracetest.Check(errors.Is(err, ErrDirectory), "OpenEventID without a trace directory: %v", err)
		id := MustEventID("enabled.nowhere")
		tracetest.Check(id == 0, "MustEventID without a trace directory = %d, want 0", id)
		Event(id, nil)
		tracetest.Check(!Enabled(id), "id 0 is enabled")
		fmt.Println("ok")
	}
}
