package script_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A program that records its own events needs no tracer for their addresses to have names: those of go
// tool addr2line, also for a program in any place and for one without symbols, after an exec, and where
// only the last events are left.
func TestSymbolsOfOwnEvents(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // the programs are the same
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	build := func(name string, flags ...string) string {
		path := filepath.Join(dir, name)
		cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", path}, flags...), "./testdata/ownpoints")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return path
	}
	static, pie, stripped := build("static"), build("pie", "-buildmode=pie"), build("stripped", "-ldflags=-s -w")
	for _, c := range []struct {
		programs []string
		options  []string
	}{
		{[]string{static}, nil},
		{[]string{pie}, nil},
		{[]string{stripped}, nil},
		{[]string{static, pie}, nil},
		{[]string{pie, static}, []string{"--log-full-policy=loop"}},
		{[]string{static}, []string{"-e", "proc,signal"}},
	} {
		log := filepath.Join(traces, "x.trace")
		argv := append(append([]string{"ptrace-run", "-o", log}, c.options...), "--")
		traceCommand(t, dir, traces, nil, append(argv, c.programs...)...)
		events := ownEvents(t, dir, traces, log)
		for i, program := range c.programs {
			mine := events[i*len(events)/len(c.programs) : (i+1)*len(events)/len(c.programs)]
			if len(mine) != 15 {
				t.Fatalf("%v: %d events of %s", c, len(mine), program)
			}
			checkOwnNames(t, program, static, mine)
		}
	}
}

// ownEvent is an event of ownpoints, as JSON.
type ownEvent struct {
	Address, Symbol, Source string
	at                      uint64 // the instruction that calls Event
}

// ownEvents returns the events of ownpoints in a log, and checks that the mappings do not count.
func ownEvents(t *testing.T, dir, traces, log string) (list []ownEvent) {
	t.Helper()
	for line := range strings.Lines(traceCommand(t, dir, traces, nil, "ptrace-dump", "-j", "--symbols", "-e", "own.point", log).String()) {
		var e ownEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		at, err := strconv.ParseUint(strings.TrimPrefix(e.Address, "0x"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		e.at = at - 1
		list = append(list, e)
	}
	out := traceCommand(t, dir, traces, nil, "ptrace-dump", log).String()
	if strings.Contains(out, "proc.map") {
		t.Errorf("a note is shown:\n%s", out)
	}
	return list
}

// checkOwnNames compares the names of events with those of go tool addr2line, or where the program can
// be anywhere or lacks what that reads, with those of the same program built otherwise.
func checkOwnNames(t *testing.T, program, static string, events []ownEvent) {
	t.Helper()
	if program != static {
		names := map[string]int{}
		for _, e := range events {
			name, _, _ := strings.Cut(e.Symbol, "+0x")
			names[name]++
			if !strings.HasSuffix(e.Source[:strings.LastIndexByte(e.Source, ':')], ".go") {
				t.Errorf("%s: %+v", program, e)
			}
		}
		if names["main.plain"] != 3 || names["main.main.func1"] != 3 || len(names) != 5 {
			t.Errorf("%s: names %v", program, names)
		}
		return
	}
	var in strings.Builder
	for _, e := range events {
		in.WriteString("0x" + strconv.FormatUint(e.at, 16) + "\n")
	}
	cmd := exec.Command("go", "tool", "addr2line", program)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(out), "\n")
	for i, e := range events {
		if name, _, ok := strings.Cut(e.Symbol, "+0x"); !ok || name != want[2*i] || e.Source != want[2*i+1] {
			t.Errorf("%s: %s %s at %#x, want %s %s", program, e.Symbol, e.Source, e.at, want[2*i], want[2*i+1])
		}
	}
}
