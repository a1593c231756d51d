package posixtrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// A completion is a way in which a stream with log ends. start makes and starts the stream of a process,
// and end, which it returns, completes the log.
type completion struct {
	name   string
	policy FullPolicy // 0: any
	full   bool       // in a full run only: it builds a program
	start  func(t *testing.T, pid int, attr *Attr, path string) (s *Stream, end func())
}

var completions = []completion{
	{"shutdown", 0, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		s := logOf(t, pid, attr, path)
		return s, func() { tracetest.OK(t, "Shutdown", s.Shutdown()) }
	}},
	{"flush", 0, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		s := logOf(t, pid, attr, path)
		return s, func() {
			tracetest.OK(t, "Flush", s.Flush())
			tracetest.OK(t, "Flush", s.Flush())
			tracetest.OK(t, "Shutdown", s.Shutdown())
		}
	}},
	{"automatic flush", PolicyFlush, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		s := logOf(t, pid, attr, path)
		return s, func() {
			size := sizeOf(t, path) // a reader of a live log would recover the dead
			tracetest.Wait(t, "an automatic flush", func() bool { return sizeOf(t, path) > size || !s.c.Mem.Pending() })
			tracetest.OK(t, "Shutdown", s.Shutdown())
		}
	}},
	{"other", 0, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		s := logOf(t, pid, attr, path)
		return s, func() {
			other, err := Attach(s.c.Path)
			tracetest.OK(t, "Attach", err)
			tracetest.OK(t, "Shutdown", other.Shutdown())
		}
	}},
	{"orphan", 0, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		owner := tracetest.Start(t, "midowner", strconv.Itoa(pid), path, strconv.Itoa(int(attr.StreamFullPolicy)))
		s, err := Attach(owner.Line())
		tracetest.OK(t, "Attach", err)
		return s, func() {
			tracetest.OK(t, "Close", s.Close())
			owner.Cmd.Process.Kill()
			owner.Cmd.Wait()
			_, err := List()
			tracetest.OK(t, "List", err)
		}
	}},
	{"agent", 0, false, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		ctest.Agent(t)
		program := ctest.C(t, "testdata/midowner.c")
		cmd := ctest.Command(t, os.Getenv("PTRACE_DIR"), program, strconv.Itoa(pid), path, strconv.Itoa(int(attr.StreamFullPolicy)))
		owner, err := tracetest.StartCommand(t, cmd)
		tracetest.OK(t, "start", err)
		if l := owner.Line(); l != "ready" {
			t.Fatalf("the owner says %q", l)
		}
		return streamOfLog(t, path), func() {
			if l := owner.Ask("shutdown"); l != "done" {
				t.Fatalf("the owner says %q", l)
			}
		}
	}},
	{"keeper", 0, true, func(t *testing.T, pid int, attr *Attr, path string) (*Stream, func()) {
		create := filepath.Join(keeperDir, "ptrace-create")
		if _, err := os.Stat(create); err != nil {
			build := exec.Command("go", "build", "-buildvcs=false", "-o", create, "./cmd/ptrace-create")
			build.Dir = ctest.Root
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		policy := map[FullPolicy]string{PolicyLoop: "loop", PolicyUntilFull: "until-full", PolicyFlush: "flush"}[attr.StreamFullPolicy]
		out, err := exec.Command(create, "-p", strconv.Itoa(pid), "-o", path, "--stream-full-policy="+policy, "--log-full-policy=append").CombinedOutput()
		if err != nil {
			t.Fatalf("ptrace-create: %v\n%s", err, out)
		}
		s := streamOfLog(t, path)
		tracetest.OK(t, "Start", s.Start())
		return s, func() {
			// The keeper itself may be shutting the stream of a process down that has ended.
			if err := s.Shutdown(); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Fatal(err)
			}
			tracetest.Wait(t, "the end of the stream", func() bool {
				_, err := os.Stat(s.c.Path)
				return errors.Is(err, os.ErrNotExist)
			})
		}
	}},
}

// keeperDir is where the keeper's program is built.
var keeperDir string

// logOf makes a stream that this process owns.
func logOf(t *testing.T, pid int, attr *Attr, path string) *Stream {
	t.Helper()
	f, err := os.Create(path)
	tracetest.OK(t, "Create", err)
	defer f.Close()
	s, err := CreateWithLog(pid, attr, f)
	tracetest.OK(t, "CreateWithLog", err)
	t.Cleanup(func() { s.Shutdown() })
	tracetest.OK(t, "Start", s.Start())
	return s
}

// streamOfLog attaches to the stream of a log.
func streamOfLog(t *testing.T, path string) *Stream {
	t.Helper()
	list, err := List()
	tracetest.OK(t, "List", err)
	for _, i := range list {
		if i.LogPath == path {
			s, err := Attach(i.Path)
			tracetest.OK(t, "Attach", err)
			t.Cleanup(func() { s.Close() })
			return s
		}
	}
	t.Fatalf("no stream of %s in %v", path, list)
	return nil
}

// sizeOf returns the size of a file.
func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	tracetest.OK(t, "Stat", err)
	return st.Size()
}

func init() {
	// midowner: owns a stream with log, until it is killed
	tracetest.Helpers["midowner"] = func(args []string) {
		pid, _ := strconv.Atoi(args[0])
		policy, _ := strconv.Atoi(args[2])
		f, err := os.Create(args[1])
		tracetest.Check(err == nil, "%v", err)
		s, err := CreateWithLog(pid, midwayAttr(FullPolicy(policy)), f)
		tracetest.Check(err == nil, "%v", err)
		tracetest.Check(s.Start() == nil, "Start")
		fmt.Println(s.c.Path)
		select {}
	}
}

func midwayAttr(policy FullPolicy) *Attr {
	a := &Attr{StreamFullPolicy: policy, LogFullPolicy: PolicyAppend, StreamSize: 64 << 10}
	if policy == PolicyLoop {
		a.StreamSize = 16 << 10 // it overwrites
	}
	return a
}

// A middle is a way in which a process is in the middle of an event when the log is completed, from when its
// thread is stopped there. after, if not nil, runs when the log is complete.
type middle struct {
	name  string
	c     bool // in C only
	enter func(t *testing.T, w *midway)
	after func(t *testing.T, w *midway)
}

// goesOn checks that the process goes on as if it had never been traced.
func goesOn(t *testing.T, w *midway) {
	t.Helper()
	n := w.page.before.Load()
	tracetest.Wait(t, "later events", func() bool { return w.page.after.Load() > n+2 })
	w.c.In.Close()
	if err := w.c.Cmd.Wait(); err != nil {
		t.Errorf("the traced process: %v", err)
	}
}

var middles = []middle{
	{"running", false, func(*testing.T, *midway) {}, func(t *testing.T, w *midway) {
		w.letGo()
		goesOn(t, w)
	}},
	{"stopped", false, func(t *testing.T, w *midway) { w.stop() }, func(t *testing.T, w *midway) {
		tracetest.OK(t, "SIGCONT", w.c.Cmd.Process.Signal(syscall.SIGCONT))
		goesOn(t, w)
	}},
	{"killed", false, func(t *testing.T, w *midway) {
		tracetest.OK(t, "kill", w.c.Cmd.Process.Kill())
		w.ended()
		w.c.Cmd.Wait()
	}, nil},
	{"ended", false, func(t *testing.T, w *midway) {
		w.c.In.Close()
		w.ended()
		tracetest.OK(t, "the traced process", w.c.Cmd.Wait())
	}, nil},
	{"exec", false, func(_ *testing.T, w *midway) { w.exec() }, nil},
	{"jumped", true, func(t *testing.T, w *midway) {
		if _, _, err := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(w.c.PID), uintptr(w.tid), uintptr(syscall.SIGUSR1)); err != 0 {
			t.Fatal(err)
		}
		w.letGo()
		tracetest.Wait(t, "a jump", func() bool { return w.page.jumped.Load() != 0 })
	}, nil},
}

// TestLogIsComplete completes logs, in each way, of processes that are in the middle of an event, in each
// way. The log has the events whose calls returned, or counts them as lost, and no others but the one
// that is under way.
func TestLogIsComplete(t *testing.T) {
	tracetest.OnlyWithoutRace(t) // which adds instructions
	keeperDir = t.TempDir()
	policies := []FullPolicy{PolicyLoop, PolicyUntilFull, PolicyFlush}
	i := 0
	for _, end := range completions {
		for _, how := range middles {
			for _, inC := range []bool{false, true} {
				for _, policy := range policies {
					i++
					if how.c && !inC || end.policy != 0 && end.policy != policy {
						continue
					}
					// Each pair of an end and a middle, in a language and with a policy that vary.
					if !tracetest.Full() && (end.full || i%5 != 0) {
						continue
					}
					name := fmt.Sprintf("%s/%s/%s/C=%v", end.name, how.name, policy, inC)
					t.Run(name, func(t *testing.T) { testCompletion(t, end, how, policy, inC) })
				}
			}
		}
	}
}

func testCompletion(t *testing.T, end completion, how middle, policy FullPolicy, inC bool) {
	runtime.LockOSThread() // ptrace(2) is bound to it
	defer runtime.UnlockOSThread()
	const n = 500
	path := filepath.Join(t.TempDir(), "log.trace")
	w := startMidway(t, inC)
	s, complete := end.start(t, w.c.PID, midwayAttr(policy), path)
	w.record(n)
	w.hold(s.c.Mem, 0)
	how.enter(t, w)
	complete()
	checkComplete(t, path, n)
	if how.after != nil {
		how.after(t, w)
	}
}

// checkComplete checks a log of a process of whose events n calls have returned, and of which perhaps one
// is under way: how many events the log has and counts as lost, and that those are its newest.
func checkComplete(t *testing.T, path string, n uint64) {
	t.Helper()
	seen, st := numbersIn(t, path)
	if sum := uint64(len(seen)) + st.Lost + st.LogLost; sum != n && sum != n+1 {
		t.Errorf("%d events and %d + %d lost, of %d", len(seen), st.Lost, st.LogLost, n)
	}
	slices.Sort(seen)
	for i, k := range seen {
		if i > 0 && seen[i-1] == k || k == 0 || k > n+1 {
			t.Fatalf("event %d twice, or never generated", k)
		}
	}
	if len(seen) == 0 || seen[len(seen)-1] < n {
		t.Errorf("the newest event is missing: %v", tail(seen))
	}
}

func tail(n []uint64) string {
	return strings.TrimSpace(fmt.Sprint("... ", n[max(0, len(n)-3):]))
}

// numbersIn returns the numbers of the events in a log that is complete, and its status.
func numbersIn(t *testing.T, path string) (seen []uint64, st Status) {
	t.Helper()
	f, err := os.Open(path)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	l, err := Open(f)
	tracetest.OK(t, "Open", err)
	defer l.Close()
	data := make([]byte, 4096)
	for {
		ev, n, err := l.Next(data)
		if err == io.EOF {
			break
		}
		tracetest.OK(t, "Next", err)
		if ev.ID.User() {
			if n != midwayData {
				t.Fatalf("an event of %d bytes", n)
			}
			seen = append(seen, binary.LittleEndian.Uint64(data))
		}
	}
	st, err = l.Status()
	tracetest.OK(t, "Status", err)
	return seen, st
}
