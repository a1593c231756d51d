//go:build linux

package tracer

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The call that a thread waits in has its number and its arguments.
func TestWaitingInCall(t *testing.T) {
	r, w, err := os.Pipe()
	tracetest.OK(t, "pipe", err)
	defer r.Close()
	defer w.Close()
	cmd := exec.Command("cat")
	cmd.Stdin = r
	tracetest.OK(t, "cat", cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for deadline := time.Now().Add(time.Minute); ; {
		list, err := ThreadsOf(cmd.Process.Pid)
		tracetest.OK(t, "threads", err)
		th := list[0]
		tracetest.Need(t, th.Hidden == nil, "a kernel that shows what a process waits in")
		if th.TID == cmd.Process.Pid && th.Name == "cat" && th.State == "sleeping" && th.InCall && th.Call == unix.SYS_READ && th.Args[0] == 0 && th.Args[2] > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("cat is doing %+v, want a read from 0", th)
		}
	}
}

// A process that does not exist, or has ended and was not waited for.
func TestEnded(t *testing.T) {
	if list, err := ThreadsOf(1 << 22); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("no process has threads %v, %v", list, err)
	}
	cmd := exec.Command("true")
	tracetest.OK(t, "true", cmd.Start())
	defer cmd.Wait()
	var info unix.Siginfo
	tracetest.OK(t, "waitid", unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil))
	list, err := ThreadsOf(cmd.Process.Pid)
	if err != nil || len(list) != 1 || list[0].State != "zombie" || list[0].InCall || list[0].Hidden != nil {
		t.Errorf("a zombie has threads %+v, %v", list, err)
	}
}

// What /proc shows is parsed whatever the name of the thread is, and damaged lines are refused.
func TestParse(t *testing.T) {
	var th Thread
	if flags, ok := th.parseStat([]byte("7 (a) S 1 (b)\n) R 1 1 1 0 -1 4194304 9")); !ok || flags != 4194304 || th.Name != "a) S 1 (b)\n" || th.State != "running" {
		t.Errorf("parsed %+v, %v, %v", th, flags, ok)
	}
	for _, s := range []string{"", "7", "7 (a", "7 )a(", "7 (a)", "7 (a) S", "7 (a) S 1 1 1 0 -1 x"} {
		if _, ok := new(Thread).parseStat([]byte(s)); ok {
			t.Errorf("parsed %q", s)
		}
	}
	th = Thread{}
	if th.parseCall([]byte("0 0x1 0x2 0x3 0x4 0x5 0xffffffffffffffff 0x7 0x8\n")); !th.InCall || th.Call != 0 || th.Args != [6]uint64{1, 2, 3, 4, 5, 1<<64 - 1} {
		t.Errorf("parsed %+v", th)
	}
	for _, s := range []string{"", "running\n", "-1 0x7ffc 0x7f\n", "1 2 3", "x 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8", "0 0x1 0x2 zz 0x4 0x5 0x6 0x7 0x8"} {
		th := new(Thread)
		if th.parseCall([]byte(s)); th.InCall {
			t.Errorf("parsed %q", s)
		}
	}
}
