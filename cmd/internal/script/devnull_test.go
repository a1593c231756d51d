package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A daemon has one /dev/null, open for reading and writing, as its standard input, output and error. The
// commands then work as with any other /dev/null. A descriptor that is closed is an error still.
func TestOneDevNull(t *testing.T) {
	h := newCrashes(t)
	_, query := unix.FcntlInt(0, unix.F_DUPFD_QUERY, 1)
	_, _, kcmp := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 0, 0, 1, 0)
	tracetest.Need(t, query == nil || kcmp == 0, "a kernel that says which descriptors are copies")
	h.output("ptrace-run", "-c", "-o", "a.trace", "sh", "-c", "echo 1")
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	writeOnly, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writeOnly.Close()
	for _, args := range [][]string{
		{"ptrace-dump", "a.trace"}, {"ptrace-dump", "--version"}, {"ptrace-dump", "--summary", "a.trace"}, {"ptrace-filter", "-i", "a.trace", "-o", "-"},
		{"ptrace-diff", "a.trace", "a.trace"}, {"ptrace-run", "sh", "-c", "echo 1; echo 2 >&2"}, {"ptrace-run", "-c", "-o", "b.trace", "sh", "-c", "echo 1"},
		{"ptrace-run", "-o", "c.trace", "ptrace-event", "--lines=tee", "line"}, {"ptrace-ctl", "list"}, {"ptrace-create", "--help"}, {"ptrace-export", "--help"},
	} {
		status := func(set func(*exec.Cmd)) (int, string) {
			var stderr bytes.Buffer
			cmd := h.command(args...)
			cmd.Stderr = &stderr
			set(cmd)
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
				t.Fatalf("%q: %v", args, cmd.ProcessState)
			}
			return cmd.ProcessState.ExitCode(), stderr.String()
		}
		want, _ := status(func(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, writeOnly, writeOnly })
		for name, set := range map[string]func(*exec.Cmd){
			"all three":       func(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, null },
			"input, output":   func(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout = null, null },
			"output, error":   func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = null, null },
			"input and error": func(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout, cmd.Stderr = null, writeOnly, null },
		} {
			if got, said := status(set); got != want {
				t.Errorf("%q: %s: status %d, want %d; %s", args, name, got, want, said)
			}
		}
	}
}
