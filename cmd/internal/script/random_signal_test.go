package script_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A signal at any time ends a recording or a listing as it ends any command. The log is
// whole if it was started, and no process remains.
func TestRandomSignals(t *testing.T) {
	rounds := 15
	if os.Getenv("POSIXTRACE_FULL") != "" {
		rounds = 1000
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "streams"), "PTRACE_STREAM=")
	log := filepath.Join(dir, "log")
	rnd := rand.New(rand.NewPCG(5, 5))
	// run starts a command, sends it a signal after a while, and returns its wait status.
	run := func(sig syscall.Signal, after time.Duration, args ...string) (ws syscall.WaitStatus, said string) {
		cmd := exec.Command(args[0], args[1:]...)
		var errs bytes.Buffer
		cmd.Env, cmd.Stderr = env, &errs
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		late := time.AfterFunc(time.Minute, func() { syscall.Kill(-pid, syscall.SIGKILL) })
		defer late.Stop()
		go func() {
			time.Sleep(after)
			syscall.Kill(pid, sig)
		}()
		io.Copy(io.Discard, out)
		err = cmd.Wait()
		ws = cmd.ProcessState.Sys().(syscall.WaitStatus)
		for deadline := time.Now().Add(60 * time.Second); syscall.Kill(-pid, 0) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				syscall.Kill(-pid, syscall.SIGKILL)
				t.Fatalf("%q: a process is left after %v", args, err)
			}
		}
		return ws, errs.String()
	}
	whole, none := 0, 0
	for round := range rounds {
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[round%3]
		after := time.Duration(rnd.IntN(60_000)) * time.Microsecond
		os.Remove(log)
		if ws, said := run(sig, after, "ptrace-run", "-c", "-o", log, "--", "sh", "-c", "while :; do echo line; done"); !ws.Signaled() || ws.Signal() != sig {
			t.Fatalf("%v after %v: %v %s", sig, after, ws, said)
		}
		// The next command completes what was left unfinished.
		list := exec.Command("ptrace-ctl", "list")
		list.Env = env
		if out, err := list.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v after %v: left behind: %s (%v)", sig, after, out, err)
		}
		st, err := os.Stat(log)
		if errors.Is(err, os.ErrNotExist) || err == nil && st.Size() == 0 {
			none++
			continue
		}
		check := exec.Command("ptrace-dump", "--check", log)
		check.Env = env
		if out, err := check.CombinedOutput(); err != nil {
			t.Fatalf("%v after %v: %v %s", sig, after, err, out)
		}
		whole++
		if round%5 == 4 {
			ws, said := run(sig, time.Duration(rnd.IntN(20_000))*time.Microsecond, "ptrace-dump", log)
			if !(ws.Signaled() && ws.Signal() == sig || ws.Exited() && ws.ExitStatus() == 0) || said != "" {
				t.Fatalf("ptrace-dump, %v: %v %s", sig, ws, said)
			}
		}
	}
	t.Logf("%d signals: %d logs, all whole; %d times too early for one", rounds, whole, none)
}
