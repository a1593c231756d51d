package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// stackOf is the part of a line of ptrace-ctl hang --json that these tests look at.
type stackOf struct {
	PID     int      `json:"pid"`
	TID     int      `json:"tid"`
	Call    string   `json:"call"`
	Callers []string `json:"callers"`
	Note    string   `json:"note"`
	State   string   `json:"state"`
}

// looksAt returns what ptrace-ctl hang --stack says of a tree.
func looksAt(pid int) (list []stackOf, err error) {
	out, err := exec.Command("ptrace-ctl", "hang", "--stack", "-j", "-p", strconv.Itoa(pid)).Output()
	for line := range bytes.Lines(out) {
		var s stackOf
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		list = append(list, s)
	}
	return list, err
}

// has reports whether a stack has these functions, each behind the one before.
func (s *stackOf) has(functions ...string) bool {
	i := 0
	for _, f := range functions {
		for i < len(s.Callers) && !strings.HasPrefix(s.Callers[i], f+"+0x") {
			i++
		}
		if i == len(s.Callers) {
			return false
		}
	}
	return true
}

// waitsProgram is a process of testdata/waits.c, whose threads check how their calls end.
type waitsProgram struct {
	*exec.Cmd
	input io.WriteCloser
	out   *bufio.Reader
}

func startWaits(t *testing.T, program string, limit time.Duration) *waitsProgram {
	t.Helper()
	w := &waitsProgram{Cmd: exec.Command(program, strconv.FormatInt(limit.Milliseconds(), 10))}
	dir := t.TempDir()
	w.Env = append(os.Environ(), "HANG_TEST="+dir)
	w.Stderr = os.Stderr
	var err error
	if w.input, err = w.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killMarked("HANG_TEST=" + dir); w.Wait() })
	w.out = bufio.NewReader(out)
	if line, err := w.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return w
}

// unharmed ends the process, and checks its own account.
func (w *waitsProgram) unharmed(t *testing.T) {
	t.Helper()
	w.input.Close()
	late := time.AfterFunc(time.Minute, func() { w.Process.Kill() })
	defer late.Stop()
	out, _ := io.ReadAll(w.out)
	var right, all int
	fmt.Sscanf(string(out), "right: %d of %d\n", &right, &all)
	if err := w.Wait(); err != nil || all < 20 || right != all {
		t.Errorf("%v\n%s", err, out)
	}
}

// A look with the stacks of calls, also one that is killed, and several at the same time, change nothing for
// threads that wait: no call fails, returns less, or later.
func TestStackLookHarmless(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0 || os.Getenv("CI") != "", "ptrace(2) of other processes")
	program, _ := compile(t, "waits")
	const limit = 4 * time.Second // which the looks fill
	looks := tracetest.Scale(20, 200, 200)
	whole := map[string]bool{} // calls whose stack was so in a look
	for name, look := range map[string]func(t *testing.T, pid int){
		"looks": func(t *testing.T, pid int) {
			list, err := looksAt(pid)
			if err != nil {
				t.Error(err)
			}
			if len(list) < 20 {
				t.Errorf("%d threads: %+v", len(list), list)
			}
			for _, s := range list {
				if s.has("outermost", "thread") {
					call, _, _ := strings.Cut(s.Call, "(")
					whole[call] = true
				}
			}
		},
		"killed": func(t *testing.T, pid int) {
			cmd := exec.Command("ptrace-ctl", "hang", "--stack", "-p", strconv.Itoa(pid))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50*time.Millisecond + time.Duration(rand.IntN(int(60*time.Millisecond))))
			cmd.Process.Kill()
			cmd.Wait()
		},
		"two at the same time": func(t *testing.T, pid int) {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					list, err := looksAt(pid)
					if err != nil || len(list) < 20 {
						t.Errorf("%d threads, %v", len(list), err)
					}
					for _, s := range list {
						if s.State == "t" {
							t.Errorf("a look takes a stop by the other one for the thread's: %+v", s)
						}
					}
				})
			}
			both.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWaits(t, program, limit)
			begin, n := time.Now(), 0
			for n < looks && time.Since(begin) < limit-time.Second/2 {
				look(t, w.Process.Pid)
				n++
			}
			t.Logf("%d looks in %v", n, time.Since(begin))
			w.unharmed(t)
			if name == "looks" && len(whole) < 10 {
				t.Errorf("the stack was whole only in %v", slices.Sorted(maps.Keys(whole)))
			}
		})
	}
}

// Threads that work notice nothing of looks with the stacks of calls.
func TestStackLookAtWork(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	a := startAttached(t)
	for range tracetest.Scale(10, 200, 1000) {
		if list, err := looksAt(a.Process.Pid); err != nil || len(list) < 8 {
			t.Fatal(list, err)
		}
		if n := a.tracer(); n != 0 {
			t.Fatalf("process %d still traces", n)
		}
	}
	a.harmless()
}

// The stacks have the functions of each thread: in C also without optimization, in Go, in Python.
func TestStackOfHang(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0 || os.Getenv("CI") != "", "ptrace(2) of other processes")
	dir := t.TempDir()
	build := func(argv ...string) {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	build("gcc", "-O0", "-pthread", "-o", filepath.Join(dir, "plain"), "testdata/mutexes.c")
	build("gcc", "-O2", "-fno-omit-frame-pointer", "-pthread", "-o", filepath.Join(dir, "pointers"), "testdata/mutexes.c")
	build("go", "build", "-o", filepath.Join(dir, "channel"), "./testdata/channel")
	for _, tt := range []struct {
		command string
		stacks  [][]string // each is that of a thread
	}{
		{"exec unshare -Urm sh -c 'mount -t tmpfs none root && cp plain root && exec root/plain'", [][]string{{"main"}, {"second"}}},
		{"exec ./plain", [][]string{{"main"}, {"second"}}},
		{"exec ./pointers", [][]string{{"main"}, {"second"}}},
		{"exec ./channel", [][]string{{"os.(*File).Read", "main.reads"}, {"main.waitsForever", "main.main"}}},
		{"exec python3 -c 'import threading; l = threading.Lock(); l.acquire(); l.acquire()'", [][]string{{"Py_BytesMain"}}},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", tt.command)
			cmd.Dir = dir
			marked := t.TempDir()
			cmd.Env = append(os.Environ(), "HANG_TEST="+marked)
			if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { killMarked("HANG_TEST=" + marked); cmd.Wait() })
			var list []stackOf
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				list, _ = looksAt(cmd.Process.Pid)
				missing := slices.ContainsFunc(tt.stacks, func(want []string) bool {
					return !slices.ContainsFunc(list, func(s stackOf) bool { return s.has(want...) })
				})
				if !missing {
					return
				}
			}
			t.Errorf("no stack is as one of %q:\n%+v", tt.stacks, list)
		})
	}
}
