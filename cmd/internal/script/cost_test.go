package script_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The cost of reading a log, bounded independently of the machine: by allocations, and by
// the ratio to the least work per event, within one process. scripts/bench measures the
// time.

const costEvents = 50_000

// costLog creates a log like those that scripts/bench reads: as recorded by a trace point
// and rewritten by ptrace-filter, it names process, thread and address once a block.
func costLog(t *testing.T) (log string) {
	from := recordedLog(t, bytes.Repeat([]byte("cost.event\t0123456789abcdef\n"), costEvents))
	log = from + ".sites"
	if out, err := exec.Command("ptrace-filter", "-i", from, "-o", log).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return log
}

// costLines creates a log of captured lines of 55 bytes.
func costLines(t *testing.T) (log string) {
	traces := filepath.Join(t.TempDir(), "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "lines.trace")
	run := exec.Command("ptrace-run", "-c", "-e", "none", "-o", log, "--stream-size=8M", "--", "cat")
	run.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	run.Stdin = bytes.NewReader(bytes.Repeat([]byte("[ 1234/50000] CC pkg/module7/file_1234.c -O2 -o 1234.o\n"), costEvents))
	var errs bytes.Buffer
	run.Stderr = &errs
	if err := run.Run(); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	return log
}

// listed runs ptrace-dump and discards its output.
func listed(t *testing.T, args ...string) {
	env := cli.NewEnv(append([]string{"ptrace-dump"}, args...))
	env.Stdout, env.Stderr = cli.NewWriter(io.Discard), io.Discard
	env.Getenv = func(string) string { return "" }
	if status := dump.Command.Execute(env); status != 0 {
		t.Fatalf("%q: status %d", args, status)
	}
}

// processorTime is the time that this process has had a processor.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

var costCases = []struct {
	name  string
	args  []string
	ratio float64 // to the yardstick
	lines float64 // the same for captured lines; 0: not tested
}{
	{"text", nil, 3.8, 6.5},
	{"json", []string{"-j"}, 4.8, 7.9},
	{"csv", []string{"--csv"}, 5, 9},
	{"golden", []string{"--golden"}, 14, 0}, // most of it for the first memory
	{"chrome", []string{"--chrome"}, 18, 26},
	{"count", []string{"-s", "-e", "cost.event"}, 1.5, 0},
	{"summary", []string{"-s"}, 2, 6},
	{"some", []string{"-e", "nothing,@system"}, 0.6, 0},
}

func TestCostDumpAllocations(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	log := costLog(t)
	for _, c := range costCases {
		if n := testing.AllocsPerRun(5, func() { listed(t, append(c.args, log)...) }); n > costEvents/10 {
			t.Errorf("%s: %v allocations for %d events", c.name, n, costEvents)
		}
	}
}

// TestCostDumpRatio alternates runs with runs of the yardstick and compares their processor time,
// which does not grow while others have the processor. On a busy machine others also empty the
// caches, but not in each of many short runs.
func TestCostDumpRatio(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	log, lines := costLog(t), costLines(t)
	line := []byte("0.000812440 4711 cost.event \"0123456789abcdef\"\n")
	buf := make([]byte, 0, 64<<10)
	// For each event a line of text with one formatted number.
	yardstick := func() {
		for i := range costEvents {
			if len(buf)+2*len(line) > cap(buf) {
				buf = buf[:0]
			}
			buf = append(strconv.AppendInt(buf, int64(i)+123456789, 10), line...)
		}
	}
	best := func(best time.Duration, f func()) time.Duration {
		start := processorTime(t)
		f()
		return min(best, processorTime(t)-start)
	}
	measure := func(t *testing.T, limit float64, args ...string) {
		ratio := tracetest.AtMost(t, limit, func() float64 {
			run, alone := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range 20 {
				run = best(run, func() { listed(t, args...) })
				alone = best(alone, yardstick)
			}
			return float64(run) / float64(alone)
		})
		t.Logf("%.2f times the yardstick", ratio)
	}
	for _, c := range costCases {
		t.Run(c.name, func(t *testing.T) { measure(t, c.ratio, append(c.args, log)...) })
		if c.lines > 0 {
			t.Run(c.name+" of lines", func(t *testing.T) { measure(t, c.lines, append(c.args, lines)...) })
		}
	}
}
