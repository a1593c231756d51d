package script_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// These tests kill commands at random times: ptrace-run, the keeper of a log, and
// ptrace-dump. The traced process counts its events in memory that it shares with the test.

// crashCount is shared memory of the test and the traced process.
type crashCount struct {
	begins, done atomic.Uint64 // events
	run, idle    atomic.Uint64 // whether the process may record, and whether it has stopped
	pid          atomic.Uint64
}

func openCrashCount(path string) (*crashCount, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*crashCount)(unsafe.Pointer(&b[0])), nil
}

func init() {
	// crash-target COUNTED: records events until it is stopped.
	helpers["crash-target"] = func() {
		c, err := openCrashCount(os.Args[1])
		if err != nil {
			panic(err)
		}
		id, err := posixtrace.OpenEventID("crash")
		if err != nil {
			panic(err)
		}
		c.pid.Store(uint64(os.Getpid()))
		for n := uint64(0); ; {
			if c.run.Load() == 0 {
				c.idle.Store(1)
				time.Sleep(50 * time.Microsecond)
				continue
			}
			c.idle.Store(0)
			data := fmt.Append(nil, n, strings.Repeat("x", int(n%50)))
			n++
			c.begins.Store(n)
			posixtrace.Event(id, data)
			c.done.Store(n)
			if n%32 == 0 {
				time.Sleep(20 * time.Microsecond)
			}
		}
	}
}

// crashes has what a round needs.
type crashes struct {
	t   *testing.T
	c   *crashCount
	dir string
	env []string

	created    string // when the last log was created
	read, lost uint64 // in all
}

func newCrashes(t *testing.T) *crashes {
	dir := t.TempDir()
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(traces) })
	c, err := openCrashCount(filepath.Join(dir, "counted"))
	if err != nil {
		t.Fatal(err)
	}
	return &crashes{t: t, c: c, dir: dir, env: append(os.Environ(), "GORACE=atexit_sleep_ms=0", "PTRACE_DIR="+traces, "PTRACE_STREAM=")}
}

func (h *crashes) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = h.dir, h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// output runs a command that must succeed, and returns its output.
func (h *crashes) output(args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%q: %v, %s", args, err, &stderr)
	}
	return string(out)
}

func (h *crashes) wait(what string, f func() bool) {
	h.t.Helper()
	for end := time.Now().Add(60 * time.Second); !f(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			h.t.Fatal("no ", what)
		}
	}
}

// start starts a command. The end of the test kills it with its process group.
func (h *crashes) start(args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(args...)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	return cmd
}

// checkCounts stops the traced process and compares the log with the process's counts.
func (h *crashes) checkCounts(log string) {
	h.t.Helper()
	h.c.run.Store(0)
	h.wait("pause of the traced process", func() bool { return h.c.idle.Load() != 0 })
	switch rand.N(4) { // the next command
	case 0:
		h.output("ptrace-ctl", "list")
	case 1:
		h.output("ptrace-ctl", "shutdown", strings.TrimSpace(h.output("ptrace-create")))
	case 2:
		h.output("ptrace-run", "true")
	}
	h.output("ptrace-dump", "--check", log)
	created := func() string {
		var attr struct{ Create_time string }
		if err := json.Unmarshal([]byte(h.output("ptrace-dump", "--attributes", "--json", log)), &attr); err != nil || attr.Create_time == "" {
			h.t.Fatal(attr, err)
		}
		return attr.Create_time
	}
	if created() == h.created {
		h.output("ptrace-ctl", "list") // the killed command had not replaced the log of the last round
	}
	h.created = created()
	var st struct{ Lost, Log_lost uint64 }
	if err := json.Unmarshal([]byte(h.output("ptrace-dump", "--status", "--json", log)), &st); err != nil {
		h.t.Fatal(err)
	}
	read, last := uint64(0), -1
	for _, n := range crashNumbers(h.t, []byte(h.output("ptrace-dump", "-e", "crash", `--format=%d\n`, log))) {
		if n <= last {
			h.t.Fatalf("event %d comes after %d", n, last)
		}
		last = n
		read++
	}
	want := h.c.done.Load()
	if read+st.Lost+st.Log_lost != want || h.c.begins.Load() != want {
		h.t.Fatalf("%d events in the log, %d lost; %d were recorded", read, st.Lost+st.Log_lost, want)
	}
	h.read += read
	h.lost += st.Lost + st.Log_lost
	if list := h.output("ptrace-ctl", "list", "-q"); list != "" {
		h.t.Fatalf("%q is left", list)
	}
	if left, _ := filepath.Glob(strings.TrimPrefix(h.env[len(h.env)-2], "PTRACE_DIR=") + "/[slt]-*"); len(left) > 0 {
		h.t.Fatalf("%q is left", left)
	}
}

func (h *crashes) reset() {
	c := h.c
	for _, w := range []*atomic.Uint64{&c.begins, &c.done, &c.run, &c.idle, &c.pid} {
		w.Store(0)
	}
}

// The command of a killed ptrace-run continues, and so does its stream until another
// command removes it.
func TestCrashRun(t *testing.T) {
	h := newCrashes(t)
	rounds := tracetest.Scale(12, 300, 3000)
	for n := range rounds {
		h.reset()
		args := []string{"ptrace-run", "-o", "run.trace", "--stream-size=64K"}
		if n%2 == 1 {
			args = append(args, "--capture")
		}
		run := h.start(append(args, "--", "crash-target", "counted")...)
		h.wait("traced process", func() bool { return h.c.pid.Load() != 0 })
		h.c.run.Store(1)
		h.wait("event", func() bool { return h.c.done.Load() > 0 })
		time.Sleep(rand.N(5 * time.Millisecond))
		run.Process.Kill()
		run.Wait()
		time.Sleep(rand.N(time.Millisecond))
		if err := syscall.Kill(int(h.c.pid.Load()), 0); err != nil {
			t.Fatalf("the command: %v", err)
		}
		h.checkCounts("run.trace")
		syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
	}
	t.Logf("%d killed; %d events in the logs, %d lost", rounds, h.read, h.lost)
}

// The keeper of a log is killed.
func TestCrashKeeper(t *testing.T) {
	h := newCrashes(t)
	rounds := tracetest.Scale(12, 300, 3000)
	for range rounds {
		h.reset()
		target := h.start("crash-target", "counted")
		h.wait("process", func() bool { return h.c.pid.Load() != 0 })
		h.output("ptrace-create", "-s", "-p", strconv.Itoa(target.Process.Pid), "-o", "kept.trace", "--stream-size=64K", "kept")
		var st struct{ Owner int }
		if err := json.Unmarshal([]byte(h.output("ptrace-ctl", "status", "--json", "kept")), &st); err != nil || st.Owner < 2 {
			t.Fatal(st, err)
		}
		h.c.run.Store(1)
		h.wait("event", func() bool { return h.c.done.Load() > 0 })
		switch rand.N(3) {
		case 0: // in the middle of a flush
			h.output("ptrace-ctl", "flush", "kept")
		case 1: // at any moment, while another command waits to be next
			h.c.run.Store(0)
			h.wait("pause", func() bool { return h.c.idle.Load() != 0 })
			h.start("ptrace-ctl", "flush", "-w", "kept")
		}
		time.Sleep(rand.N(5 * time.Millisecond))
		if err := syscall.Kill(st.Owner, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.wait("end of the keeper", func() bool { return !alive(st.Owner) })
		h.checkCounts("kept.trace")
		target.Process.Kill()
		target.Wait()
	}
	t.Logf("%d killed; %d events in the logs, %d lost", rounds, h.read, h.lost)
}

// alive reports whether any thread of a process is running.
func alive(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil {
			if _, rest, _ := strings.Cut(string(b), ") "); !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
				return true
			}
		}
	}
	return false
}

// crashNumbers returns the numbers of the events in complete lines.
func crashNumbers(t *testing.T, out []byte) (list []int) {
	for line := range bytes.Lines(out) {
		if line[len(line)-1] != '\n' {
			break
		}
		n, err := strconv.Atoi(strings.TrimRight(string(line), "x\n"))
		if err != nil || fmt.Sprint(n, strings.Repeat("x", n%50))+"\n" != string(line) {
			t.Fatalf("a torn line: %q", line)
		}
		list = append(list, n)
	}
	return
}

// A ptrace-dump that is killed while it shows an active stream has shown each event at most
// once; one that shows a log with a cursor, at least once.
func TestCrashDump(t *testing.T) {
	h := newCrashes(t)
	rounds := tracetest.Scale(12, 300, 3000)
	target := h.start("crash-target", "counted")
	h.wait("process", func() bool { return h.c.pid.Load() != 0 })
	h.output("ptrace-create", "-s", "-p", strconv.Itoa(target.Process.Pid), "live")
	last := -1
	h.c.run.Store(1)
	for range rounds {
		for _, n := range crashNumbers(t, h.interrupted("ptrace-dump", "-f", "-e", "crash", `--format=%d\n`, "live")) {
			if n <= last {
				t.Fatalf("event %d was shown, and then %d", last, n)
			}
			last = n
		}
	}
	h.c.run.Store(0)
	h.wait("pause", func() bool { return h.c.idle.Load() != 0 })
	rest := crashNumbers(t, []byte(h.output("ptrace-dump", "-e", "crash", `--format=%d\n`, "live")))
	if len(rest) > 0 && rest[0] <= last {
		t.Errorf("event %d was shown, and then %d", last, rest[0])
	}
	h.output("ptrace-ctl", "shutdown", "live")

	h.reset()
	h.c.pid.Store(uint64(target.Process.Pid))
	h.output("ptrace-create", "-s", "-p", strconv.Itoa(target.Process.Pid), "-o", "log.trace", "logged")
	h.c.run.Store(1)
	seen := map[int]bool{}
	show := []string{"ptrace-dump", "--cursor=cursor", "-f", "-e", "crash", `--format=%d\n`, "log.trace"}
	for range rounds {
		for _, n := range crashNumbers(t, h.interrupted(show...)) {
			seen[n] = true
		}
	}
	h.c.run.Store(0)
	h.wait("pause", func() bool { return h.c.idle.Load() != 0 })
	h.output("ptrace-ctl", "shutdown", "logged")
	for _, n := range crashNumbers(t, []byte(h.output(show...))) {
		seen[n] = true
	}
	all := crashNumbers(t, []byte(h.output("ptrace-dump", "-e", "crash", `--format=%d\n`, "log.trace")))
	for _, n := range all {
		if !seen[n] {
			t.Fatalf("event %d of %d was never shown", n, len(all))
		}
	}
	t.Logf("%d killed twice; the last event of the stream was %d, %d in the log", rounds, last, len(all))
}

// interrupted runs a command, waits for its first output and a random time, and kills it.
func (h *crashes) interrupted(args ...string) []byte {
	h.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Close()
	cmd := h.command(args...)
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		h.t.Fatal(err)
	}
	done := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r)
		done <- b
	}()
	time.Sleep(5*time.Millisecond + rand.N(25*time.Millisecond))
	cmd.Process.Kill()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() >= 0 {
		h.t.Fatalf("%q ended on its own: %v", args, err)
	}
	return <-done
}
