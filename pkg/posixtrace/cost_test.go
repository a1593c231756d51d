package posixtrace

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// These tests bound the cost of a trace point in ways that do not depend on the machine: by
// its instructions, by its allocations, and by its ratio to the minimum of an event, within
// one process. scripts/bench reports nanoseconds.

// A costCase is a state of a trace point. The bounds are a quarter above the counts on the day
// they were set: a compiler may differ by a few instructions, but a change that adds work to
// every event must raise them here.
type costCase struct {
	name         string
	size         int // of the data
	events       int // counted together
	instructions float64
}

var costCases = []costCase{
	{"untraced", 16, 1, 18},
	{"rejected", 16, 1, 108},
	{"recorded", 16, 1, 470},
	// With their share of the cost of taking a chunk from the oldest events; four fit into one.
	{"overwriting", 900, 8, 1300},
}

// prepare puts this process into the state. It returns a function with the trace points, and the
// same function without them.
func (c costCase) prepare(tb testing.TB) (point, none func()) {
	id, err := OpenEventID("cost.event")
	if err != nil {
		tb.Fatal(err)
	}
	if c.name != "untraced" {
		s, err := Create(0, &Attr{StreamSize: 64 << 10})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { s.Shutdown() })
		if err := s.Start(); err != nil {
			tb.Fatal(err)
		}
		if c.name == "rejected" {
			var set EventSet
			set.Add(id)
			if err := s.SetFilter(set, FilterSet); err != nil {
				tb.Fatal(err)
			}
		}
	}
	data := make([]byte, c.size)
	repeat := func(f func(EventID, []byte)) func() {
		return func() {
			for range c.events {
				f(id, data)
			}
		}
	}
	warm := 10
	if c.name == "overwriting" {
		warm = 1000
	}
	for range warm {
		tracePoint(id, data)
	}
	return repeat(tracePoint), repeat(noTracePoint)
}

//go:noinline
func tracePoint(id EventID, data []byte) { Event(id, data) }

//go:noinline
func noTracePoint(EventID, []byte) {}

func TestCostAllocations(t *testing.T) {
	for _, c := range costCases {
		t.Run(c.name, func(t *testing.T) {
			point, _ := c.prepare(t)
			if n := testing.AllocsPerRun(100, point); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestCostRatio compares batches of trace points with batches of the yardstick, in turn.
// Each batch is short enough that some of many are not interrupted, even on a busy
// machine.
func TestCostRatio(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.Need(t, sys.FastSelf(), "a Go release whose thread ids are where they were")
	for name, most := range map[string]float64{"untraced": 0.25, "rejected": 1, "recorded": 4} {
		t.Run(name, func(t *testing.T) {
			point, _ := costCase{name: name, size: 16, events: 1000}.prepare(t)
			y := &yardstick{buf: make([]byte, 1<<20)}
			best := func(best time.Duration, f func()) time.Duration {
				start := time.Now()
				f()
				return min(best, time.Since(start))
			}
			ratio := tracetest.AtMost(t, most, func() float64 {
				event, alone := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
				for range 100 {
					event = best(event, point)
					alone = best(alone, func() {
						for range 1000 {
							y.record(sixteen)
						}
					})
				}
				return float64(event) / float64(alone)
			})
			t.Logf("%.2f times the yardstick", ratio)
		})
	}
}

// TestCostInstructions counts the instructions of a trace point by single steps.
func TestCostInstructions(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.Only(t, runtime.GOARCH == "amd64", "on amd64, whose instructions the bounds count")
	for _, c := range costCases {
		t.Run(c.name, func(t *testing.T) {
			n := float64(countSteps(t, c.name)) / float64(c.events)
			t.Logf("%.1f instructions", n)
			if n > c.instructions || n < 1 {
				t.Errorf("%.1f instructions, where at most %v are expected", n, c.instructions)
			}
		})
	}
}

const (
	stepsHelper = "cost-steps"
	stepRounds  = 3
	maxSteps    = 1 << 20 // far more than expected
)

func init() {
	if os.Getenv(tracetest.HelperVar) == stepsHelper {
		runtime.LockOSThread() // to the main thread, which ptrace(2) traces
	}
	tracetest.Helpers[stepsHelper] = func(args []string) {
		for _, c := range costCases {
			if c.name != args[0] {
				continue
			}
			var tb stepsTB
			point, none := c.prepare(&tb)
			for range stepRounds {
				between(none)
				between(point)
			}
			tb.end()
		}
	}
}

// between runs the code that is stepped through.
//
//go:noinline
func between(f func()) {
	runtime.Breakpoint()
	f()
	runtime.Breakpoint()
}

// stepsTB is the testing.TB of costCase.prepare in a process without a test.
type stepsTB struct {
	testing.TB
	cleanup []func()
}

func (tb *stepsTB) Cleanup(f func()) { tb.cleanup = append(tb.cleanup, f) }

func (tb *stepsTB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func (tb *stepsTB) end() {
	for _, f := range tb.cleanup {
		f()
	}
}

// countSteps returns the number of instructions of the trace point in the given state, in a
// process of its own.
func countSteps(t *testing.T, state string) int {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", state)
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"="+stepsHelper, "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid

	// The process stops for signals. Other signals than ours are passed on.
	wait := func() (sig syscall.Signal, ended bool) {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		if !ws.Stopped() {
			if ws.ExitStatus() != 0 {
				t.Fatalf("the traced process has ended with %#x", int(ws))
			}
			return 0, true
		}
		return ws.StopSignal(), false
	}
	wait() // of exec
	var with, without []int
	for pass, began := 0, false; ; {
		if err := syscall.PtraceCont(pid, pass); err != nil {
			t.Fatal(err)
		}
		sig, ended := wait()
		if ended {
			break
		}
		if pass = int(sig); sig != syscall.SIGTRAP {
			continue
		}
		pass = 0
		if began {
			t.Fatal("a breakpoint too many")
		}
		n, spoiled, switched := 0, false, false
		for {
			if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_SINGLESTEP, uintptr(pid), 0, uintptr(pass), 0, 0); errno != 0 {
				t.Fatal(errno)
			}
			pass = 0
			sig, ended := wait()
			if ended {
				t.Fatal("the traced process has ended in the middle")
			}
			if sig != syscall.SIGTRAP {
				pass, spoiled = int(sig), true // its handler is counted with it
				continue
			}
			if atBreakpoint(t, pid) {
				break
			}
			if switched = switching(t, pid, switched); switched {
				continue
			}
			if n++; n > maxSteps {
				t.Fatal("no end")
			}
		}
		switch odd := (len(with)+len(without))%2 == 1; {
		case spoiled && odd:
			with = append(with, maxSteps)
		case spoiled:
			without = append(without, maxSteps)
		case odd:
			with = append(with, n)
		default:
			without = append(without, n)
		}
	}
	if len(with) != stepRounds || len(without) != stepRounds {
		t.Fatalf("%d and %d rounds", len(with), len(without))
	}
	return slices.Min(with) - slices.Min(without)
}

// switching reports whether a process is about to execute an instruction of the scheduler, which may
// take over at the start of a function. before is the answer for the previous step.
func switching(t *testing.T, pid int, before bool) bool {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
		t.Fatal(err)
	}
	name := ""                                                // empty for code that is not Go
	if f := runtime.FuncForPC(uintptr(regs.PC())); f != nil { // of the same program
		name = f.Name()
	}
	if !before {
		return strings.HasPrefix(name, "runtime.morestack")
	}
	return name == "" || name == "gogo" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/")
}

// atBreakpoint reports whether a process has stopped after a breakpoint rather than after a
// step, of which there are several kinds.
func atBreakpoint(t *testing.T, pid int) bool {
	const ptraceGetSigInfo, siKernel = 0x4202, 0x80
	var info struct {
		signo, errno, code int32
		_                  [116]byte
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceGetSigInfo, uintptr(pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	return info.code == siKernel
}
