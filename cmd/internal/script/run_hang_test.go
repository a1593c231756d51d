package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangThread is the part of a line of ptrace-dump --json that the tests look at.
type hangThread struct {
	PID    int    `json:"pid"`
	Call   string `json:"call"`
	Note   string `json:"note"`
	Kind   string `json:"kind"`
	Cause  string `json:"cause"`
	Signal int    `json:"signal"`
	Report int    `json:"report"`
	Nanos  int64  `json:"nsec"`
}

func hangThreads(t *testing.T, env []string, log string) (list []hangThread) {
	t.Helper()
	cmd := exec.Command("ptrace-dump", "--json", "-e", "hang.thread", log)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var h hangThread
		if err := json.Unmarshal(line, &h); err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// awaitState waits until a process sleeps, as in a read.
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); f[0] == state {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d: %s", pid, b)
		}
	}
}

// A signal that asks ptrace-run to end has a report, before the command gets it; the command ends by the
// signal all the same. A second signal has none.
func TestHangSignal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "streams"), "PTRACE_STREAM=")
	log := filepath.Join(dir, "x.trace")
	start := func(script string, args ...string) (cmd *exec.Cmd, pid int, errs *bytes.Buffer, lines *bufio.Reader) {
		cmd = exec.Command("ptrace-run", append(append(args, "--", "sh", "-c"), script)...)
		errs = &bytes.Buffer{}
		cmd.Env, cmd.Stderr = env, errs
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: ptrace-run passes INT on
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		t.Cleanup(func() { late.Stop() })
		lines = bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Fatal(err, errs)
		}
		awaitState(t, pid, "S")
		return cmd, pid, errs, lines
	}
	const tries = 5 // a machine may be so busy that a look takes too long
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	for i, try := 0, 1; i < len(signals); try++ {
		sig := signals[i]
		cmd, pid, _, _ := start("echo $$; read line", "-o", log)
		started := time.Now()
		cmd.Process.Signal(sig)
		cmd.Wait()
		took := time.Since(started)
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Fatalf("%v: %v", sig, ws)
		}
		list := hangThreads(t, env, log)
		if (len(list) == 0 || strings.Contains(list[0].Note, "given up")) && try < tries {
			continue
		}
		i, try = i+1, 0
		if len(list) != 1 || list[0].PID != pid || list[0].Kind != "waits" || !strings.HasPrefix(list[0].Call, "read(0<pipe:") ||
			list[0].Cause != "signal" || list[0].Signal != int(sig) || list[0].Report != 1 {
			t.Errorf("%v: %+v", sig, list)
		}
		if took > 10*time.Second {
			t.Errorf("%v: ended after %v", sig, took)
		}
		sum, err := exec.Command("ptrace-dump", "-s", log).Output()
		if first, _, _ := strings.Cut(string(sum), "\n"); err != nil || !strings.Contains(first, "; then: the command waited ") || !strings.Contains(first, " in read(0<pipe:") {
			t.Errorf("%v: %s, %v", sig, first, err)
		}
	}

	// A command that handles the signals goes on, and a later one is passed on without a report.
	cmd, _, _, lines := start(`trap 'echo got' TERM; echo $$; while ! [ -e `+filepath.Join(dir, "end")+` ]; do sleep 0.1; done`, "-o", log)
	for range 2 {
		cmd.Process.Signal(syscall.SIGTERM)
		if line, err := lines.ReadString('\n'); line != "got\n" {
			t.Fatal(line, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	list := hangThreads(t, env, log)
	for _, h := range list {
		if h.Report != 1 {
			t.Errorf("%+v", list)
		}
	}
	if sum, err := exec.Command("ptrace-dump", "-s", log).Output(); err != nil || bytes.Contains(sum, []byte("then:")) {
		t.Errorf("%s, %v", sum, err)
	}

	// Without a log the report is on standard error.
	var errs *bytes.Buffer
	for range tries {
		cmd, _, errs, _ = start("echo $$; read line", "-N", "0")
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if !strings.Contains(errs.String(), "could not be seen in") && !strings.Contains(errs.String(), "given up") {
			break
		}
	}
	if text := errs.String(); !strings.HasPrefix(text, "ptrace-run: SIGTERM after ") || !strings.Contains(text, "read(0<pipe:") {
		t.Errorf("%s", text)
	}
}

// A report that cannot be written does not end ptrace-run: the command gets the signal, and its status counts.
func TestHangUnread(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := exec.Command("ptrace-run", "-N", "0", "-t", "500ms", "sh", "-c", "trap 'exit 7' TERM; echo $$; while :; do sleep 0.1; done")
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+dir, "PTRACE_STREAM=")
	cmd.Stderr = w
	err = cmd.Run()
	w.Close()
	if cmd.ProcessState.ExitCode() != 124 {
		t.Error(err)
	}
}

// A key of the terminal reaches the command by itself, and has no report: the run ends as without it. The log says
// how the command ended. A command that goes on gets the key once.
func TestHangKey(t *testing.T) {
	tm := newTerminal(t)
	for _, args := range []string{"-N 0", "-N 0 -c", "-o x.trace", "-o x.trace -c -t 1h"} {
		os.Remove(filepath.Join(tm.dir, "pid"))
		tm.typed("ptrace-run " + args + " sh -c 'echo $$ >pid; exec sleep 120'\n")
		awaitState(t, tm.pid("pid"), "S")
		console := strings.Contains(args, "-c")
		tm.raw(console)
		tm.typed("\x03")
		tm.raw(false)
		tm.typed("echo sta\"\"tus $?\n")
		if seen := tm.expect("status 130"); strings.Contains(seen, " after ") {
			t.Errorf("%s: %q", args, seen)
		}
		if !strings.Contains(args, "x.trace") {
			continue
		}
		if out := tm.run("ptrace-dump -e hang.thread x.trace"); strings.Contains(out, "cause=") {
			t.Errorf("%s: %s", args, out)
		}
		if out := tm.run("ptrace-dump -s x.trace"); !strings.Contains(out, "killed by INT after") || strings.Contains(out, "then: ") {
			t.Errorf("%s: %s", args, out)
		}
	}
	os.Remove(filepath.Join(tm.dir, "pid"))
	script := "trap 'n=$((n+1)); echo got' INT; n=0; sleep 120 & echo $! >pid; wait; kill $!; echo ended $n\n"
	if err := os.WriteFile(filepath.Join(tm.dir, "catch"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	tm.typed("ptrace-run -N 0 -o x.trace sh catch\n")
	awaitState(t, tm.pid("pid"), "S")
	tm.typed("\x03")
	tm.expect("got")
	tm.expect("ended 1")
}
