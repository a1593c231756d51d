package script_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

func init() {
	// leave-group COMMAND...: executes it in the process group of its parent.
	helpers["leave-group"] = func() {
		group, err := unix.Getpgid(os.Getppid())
		if err == nil {
			err = unix.Setpgid(0, group)
		}
		var path string
		if err == nil {
			path, err = exec.LookPath(os.Args[1])
		}
		if err == nil {
			err = syscall.Exec(path, os.Args[1:], os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Signals to the command's process group reach the command even if it has moved to another
// group.
func TestRunSignalsCommandInOtherGroup(t *testing.T) {
	h := newCrashes(t)
	pidFile := filepath.Join(h.dir, "pid")
	begin := func(options ...string) *exec.Cmd {
		os.Remove(pidFile)
		args := append([]string{"ptrace-run", "--pty=yes", "-c", "-o", "x.trace"}, options...)
		cmd := h.command(append(args, "leave-group", "sh", "-c", "echo $$ >pid; exec sleep 120")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(100*time.Second, func() { cmd.Process.Kill() })
		t.Cleanup(func() { late.Stop() })
		return cmd
	}
	// start starts ptrace-run and returns it and its command, which sleeps.
	start := func() (*exec.Cmd, int) {
		cmd, pid := begin(), 0
		h.wait("the command has started", func() bool {
			b, _ := os.ReadFile(pidFile)
			pid, _ = strconv.Atoi(string(bytes.TrimSpace(b)))
			return pid > 0
		})
		t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
		return cmd, pid
	}
	ended := func(cmd *exec.Cmd, want int) {
		t.Helper()
		err := cmd.Wait()
		var exit *exec.ExitError
		got := 0
		if errors.As(err, &exit) {
			if got = exit.ExitCode(); exit.Sys().(syscall.WaitStatus).Signaled() {
				got = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
			}
		}
		if got != want {
			t.Errorf("ptrace-run ended with %d (%v), want %d", got, err, want)
		}
	}
	state := func(pid int) string {
		b, _ := os.ReadFile(procfs.File(pid, "stat"))
		if i := bytes.LastIndexByte(b, ')'); i >= 0 && i+2 < len(b) {
			return string(b[i+2 : i+3])
		}
		return ""
	}

	// The time may be over before a slow machine has executed the command.
	ended(begin("-t", "0.5"), 124)
	ended(begin("-t", "0.5", "-s", "URG", "-k", "0.1"), 137) // which every program ignores

	cmd, pid := start()
	unix.Kill(pid, unix.SIGSTOP)
	h.wait("ptrace-run has stopped", func() bool { return state(cmd.Process.Pid) == "T" })
	unix.Kill(cmd.Process.Pid, unix.SIGCONT)
	h.wait("the command continues", func() bool { return state(pid) == "S" })
	unix.Kill(cmd.Process.Pid, unix.SIGINT)
	ended(cmd, 130)

	cmd, pid = start()
	cmd.Process.Kill()
	ended(cmd, 137)
	h.wait("the command is hung up", func() bool { s := state(pid); return s == "" || s == "Z" })
}
