package script_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// askedRun is a run of ptrace-run -e whose command waits for input.
type askedRun struct {
	*exec.Cmd
	t      *testing.T
	traces string
	input  io.WriteCloser
	first  string // the first line of the command
	errs   bytes.Buffer
}

// startAsked starts it and waits for a line from the command.
func startAsked(t *testing.T, events, script string) *askedRun {
	t.Helper()
	dir := t.TempDir()
	r := &askedRun{t: t, traces: filepath.Join(dir, "traces")}
	if err := os.Mkdir(r.traces, 0o700); err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command("ptrace-run", "-e", events, "-o", filepath.Join(r.traces, "x.trace"), "--", "sh", "-c", script)
	r.Dir = dir
	r.Env = append(os.Environ(), "PTRACE_DIR="+r.traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
	r.Stderr = &r.errs
	r.WaitDelay = time.Second // processes that outlive the command may hold its output
	var err error
	if r.input, err = r.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reap(t, "PTRACE_DIR="+r.traces) })
	if r.first, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the command did not start: %q, %v; %s", r.first, err, r.errs.String())
	}
	return r
}

// ended waits for the end of ptrace-run, and returns its status and its messages.
func (r *askedRun) ended() (code int, errs string) {
	r.t.Helper()
	done := make(chan struct{})
	go func() {
		r.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		text := holders(filepath.Dir(r.traces))
		r.Process.Kill()
		r.t.Fatalf("ptrace-run does not end\n%s", text)
	}
	return r.ProcessState.ExitCode(), r.errs.String()
}

func (r *askedRun) dump() string {
	r.t.Helper()
	return traceCommand(r.t, r.Dir, r.traces, nil, "ptrace-dump", "--golden", filepath.Join(r.traces, "x.trace")).String()
}

// If every process is signalled to terminate, as by systemctl stop, the command can still
// clean up, and its events are recorded to the end.
func TestTraceRecordsCleanupAfterTermination(t *testing.T) {
	for _, events := range []string{"proc,signal", "syscall,proc", "syscall.openat,proc"} {
		t.Run(events, func(t *testing.T) {
			t.Parallel()
			// ptrace-run forwards the signal, so the command gets it twice.
			r := startAsked(t, events, `trap 'trap "" TERM; echo gone >cleaned; exit 7' TERM; echo started; read x`)
			tracer := tracerOf(r.Process.Pid)
			command := commandOf(t, r.Process.Pid, tracer)
			for _, pid := range []int{tracer, r.Process.Pid, command} {
				// The process may have ended because the others have.
				if err := unix.Kill(pid, unix.SIGTERM); err != nil && err != unix.ESRCH {
					t.Fatal(pid, err)
				}
			}
			code, errs := r.ended()
			cleaned, _ := os.ReadFile(filepath.Join(r.Dir, "cleaned"))
			if code != 7 || errs != "" || string(cleaned) != "gone\n" {
				t.Errorf("%v, %q; cleaned up: %q", r.ProcessState, errs, cleaned)
			}
			if dump := r.dump(); !strings.Contains(dump, " T1 proc.exit status=7\n") {
				t.Error(dump)
			}
		})
	}
}

// commandOf returns the other child of a process.
func commandOf(t *testing.T, pid, other int) int {
	t.Helper()
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, name := range tasks {
		b, _ := os.ReadFile(name)
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil && child != other {
				return child
			}
		}
	}
	t.Fatalf("process %d has no child except %d", pid, other)
	return 0
}

// A tracer ignores every signal except SIGKILL, SIGSTOP and those of its own faults.
func TestTracerIgnoresSignals(t *testing.T) {
	faults := map[syscall.Signal]bool{
		unix.SIGKILL: true, unix.SIGSTOP: true, unix.SIGILL: true, unix.SIGTRAP: true, unix.SIGBUS: true,
		unix.SIGFPE: true, unix.SIGSEGV: true, unix.SIGSYS: true,
	}
	r := startAsked(t, "syscall.openat,proc", "echo started; read x; exit 5")
	tracer := tracerOf(r.Process.Pid)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if !faults[sig] {
			if err := unix.Kill(tracer, sig); err != nil {
				t.Fatalf("signal %d: %v", sig, err)
			}
		}
	}
	r.input.Close()
	if code, errs := r.ended(); code != 5 || errs != "" {
		t.Errorf("%v, %q", r.ProcessState, errs)
	}
	if dump := r.dump(); !strings.Contains(dump, " T1 proc.exit status=5\n") {
		t.Error(dump)
	}
}

// ptrace-run does not wait for processes that outlive the command, even if its caller has
// blocked every signal.
func TestTraceWithBlockedSignals(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		t.Fatal(err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	r := startAsked(t, "proc", "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")
	unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	left, err := strconv.Atoi(strings.TrimSpace(r.first))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(left, unix.SIGKILL)
	says := "ptrace-run: the command has left processes running; their events are no longer recorded: " + strconv.Itoa(left) + "\n"
	if code, errs := r.ended(); code != 3 || errs != says {
		t.Errorf("%v, %q", r.ProcessState, errs)
	}
}

// A call that a signal interrupts and the kernel restarts is not recorded as failed.
func TestTraceRestartedCall(t *testing.T) {
	r := startAsked(t, "syscall.read", "echo started; read x; exit 6")
	command := commandOf(t, r.Process.Pid, tracerOf(r.Process.Pid))
	reading := strconv.Itoa(unix.SYS_READ) + " 0x0 "
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(command) + "/syscall")
		if err != nil || time.Now().After(end) {
			tracetest.Need(t, err == nil, "a kernel that shows what a process waits in")
			t.Fatalf("the command does not read, %q", b)
		}
		if strings.HasPrefix(string(b), reading) {
			break
		}
	}
	// Signals that are ignored by default, to the command and to ptrace-run.
	for _, pid := range []int{command, r.Process.Pid} {
		for _, sig := range []syscall.Signal{unix.SIGWINCH, unix.SIGURG} {
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	// SIGIO, as when another process breaks a lease.
	if err := unix.Kill(r.Process.Pid, unix.SIGIO); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(r.traces, "x.trace")
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(time.Millisecond) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(command) + "/syscall")
		s, _ := os.ReadFile("/proc/" + strconv.Itoa(command) + "/status")
		if strings.HasPrefix(string(b), reading) && strings.Contains(string(s), "\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the command does not read again: %q", b)
		}
	}
	r.input.Close()
	if code, errs := r.ended(); code != 6 || errs != "" {
		t.Errorf("%v, %q", r.ProcessState, errs)
	}
	text := traceCommand(t, r.Dir, r.traces, nil, "ptrace-dump", "--format=%d\n", "-e", "syscall.read", log).String()
	if !strings.Contains(text, " restarted=ERESTARTSYS duration=") || strings.Contains(text, "errno=") {
		t.Errorf("%s", text)
	}
	json := traceCommand(t, r.Dir, r.traces, nil, "ptrace-dump", "-j", "-e", "syscall.read", log).String()
	if !strings.Contains(json, `"returned":true,"result":0,"errno":0,"errno_name":"","restarted":true,`) || strings.Contains(json, `"result":-1`) {
		t.Errorf("%s", json)
	}
}
