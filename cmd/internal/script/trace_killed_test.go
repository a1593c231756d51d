package script_test

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// killedRun is a run of ptrace-run in which one process is killed.
type killedRun struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	out    *os.File // read end of the command's output
	status chan error
}

// startKilled starts ptrace-run with a command that opens files, and so makes the calls that
// the filter stops.
func startKilled(t *testing.T, dir, events string) *killedRun {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	k := &killedRun{t: t, dir: dir, out: r, status: make(chan error, 1)}
	k.cmd = exec.Command("ptrace-run", "-e", events, "-o", filepath.Join(dir, "x.trace"), "--",
		"sh", "-c", "echo started; (cat there there; cat there) && echo done")
	k.cmd.Dir = dir
	k.cmd.Env = append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "traces"), "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	k.cmd.Stdout, k.cmd.Stderr = w, w
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() { k.status <- k.cmd.Wait() }()
	return k
}

// output returns what the command and ptrace-run wrote. It ends when all writers have
// ended, so it blocks if one is stopped.
func (k *killedRun) output() (out string, err error) {
	k.t.Helper()
	defer k.out.Close()
	if err := k.out.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		k.t.Fatal(err)
	}
	b, err := io.ReadAll(k.out)
	if err != nil {
		k.t.Fatalf("a process hangs or is stopped: %v after %q\n%s", err, b, holders(k.dir))
	}
	select {
	case err = <-k.status:
	case <-time.After(60 * time.Second):
		k.t.Fatalf("ptrace-run hangs after %q\n%s", b, holders(k.dir))
	}
	return string(b), err
}

// holders describes the processes of a test.
func holders(dir string) (text string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "PTRACE_DIR="+dir+"/") {
			status, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
			text += string(status[:min(len(status), 300)]) + "\n"
		}
	}
	return text
}

// tracerOf waits for the tracer that ptrace-run starts and returns it, or 0 if there is
// none.
func tracerOf(pid int) int {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		if len(tasks) == 0 {
			return 0
		}
		for _, name := range tasks {
			b, _ := os.ReadFile(name)
			for _, f := range strings.Fields(string(b)) {
				line, _ := os.ReadFile("/proc/" + f + "/cmdline")
				if strings.Contains(string(line), "\x00"+tracer.Flag+"=") {
					n, _ := strconv.Atoi(f)
					return n
				}
			}
		}
	}
	return 0
}

// Whichever process is killed, at any time: the command runs or is dead but is not stopped,
// and none of its calls fails for lack of a tracer.
func TestTraceKilledAnytime(t *testing.T) {
	whole := "started\nhere\nhere\nhere\ndone\n"
	for _, tt := range []struct {
		name, events string
		tracer       bool // kill the tracer, not ptrace-run
	}{
		{"ptrace-run, proc and signal", "proc,signal", false},
		{"ptrace-run, every call", "syscall", false},
		{"ptrace-run, some calls", "syscall.openat,proc", false},
		{"tracer, every call", "syscall,proc", true},
		{"tracer, some calls", "syscall.openat", true},
		{"ptrace-run, files", "files,proc", false},
		{"tracer, files", "files", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "there"), []byte("here\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			defer reap(t, "PTRACE_DIR="+filepath.Join(dir, "traces"))
			took := time.Hour
			for range 3 {
				begin := time.Now()
				if out, err := startKilled(t, dir, tt.events).output(); out != whole || err != nil {
					t.Fatalf("no process is killed: %q, %v", out, err)
				}
				took = min(took, time.Since(begin))
			}
			early, late := 0, 0
			for range 10 {
				wait := time.Duration(rand.Int64N(int64(took)))
				k := startKilled(t, dir, tt.events)
				victim := k.cmd.Process.Pid
				if tt.tracer {
					victim = tracerOf(victim)
				}
				time.Sleep(wait)
				if victim > 0 && unix.Kill(victim, unix.SIGKILL) == nil {
					early++
				}
				out, err := k.output()
				// The two may write in any order.
				reported := ""
				for line := range strings.Lines(out) {
					if strings.HasPrefix(line, "ptrace-run: ") {
						reported += line
					}
				}
				out = strings.Replace(out, reported, "", 1)
				if out == whole {
					late++
				}
				switch {
				case !strings.HasPrefix(whole, out) || strings.Contains(out, "not implemented"):
					t.Errorf("killed after %v: %q %q", wait, out, reported)
				case tt.tracer && !strings.Contains(tt.events, ".") && tt.events != "files" && (out != whole || err != nil):
					// Without a filter the command does not depend on its tracer.
					t.Errorf("killed after %v: %q %q, %v", wait, out, reported, err)
				case tt.tracer && out != whole && err == nil:
					t.Errorf("killed after %v: %q %q, and the status is 0", wait, out, reported)
				case tt.tracer && out != "" && out != whole && reported == "":
					// Before the command starts, the tracer's death kills ptrace-run.
					t.Errorf("killed after %v: %q, %v, and nothing is reported", wait, out, err)
				}
			}
			t.Logf("killed %d times, whole %d times", early, late)
			// The stream that was left is shut down.
			exec.Command("env", "PTRACE_DIR="+filepath.Join(dir, "traces"), "ptrace-ctl", "list").Run()
			if left, _ := filepath.Glob(filepath.Join(dir, "traces", "s-*")); len(left) > 0 {
				t.Errorf("streams remain: %q", left)
			}
		})
	}
}
