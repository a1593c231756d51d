//go:build linux

package hang

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/cmd/internal/record/unwind"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The frames of stacks count as lines: each thread has its line before any has frames, and longer stacks get what
// shorter ones leave.
func TestReportStacks(t *testing.T) {
	r := &Report{}
	for i, n := range []int{1, 3, 40} {
		th := Thread{PID: i + 1, TID: i + 1, Program: "p"}
		for f := range n {
			th.Stack = append(th.Stack, "f"+strconv.Itoa(f))
		}
		r.Threads = append(r.Threads, th)
	}
	for most, want := range map[int]string{
		4:  "p (pid 1)|p (pid 2)|p (pid 3)",
		6:  "p (pid 1)|p (pid 2)|p (pid 3)", // not one frame for each
		7:  "p (pid 1)|> f0|p (pid 2)|> ...|p (pid 3)|> ...",
		9:  "p (pid 1)|> f0|p (pid 2)|> f0|> ...|p (pid 3)|> f0|> ...",
		12: "p (pid 1)|> f0|p (pid 2)|> f0|> f1|> f2|p (pid 3)|> f0|> f1|> f2|> ...",
	} {
		var got []string
		for l := range strings.Lines(string(r.AppendText(nil, most))) {
			l, _, _ = strings.Cut(strings.TrimSpace(l), " waits")
			got = append(got, l)
		}
		if text := strings.Join(got[1:], "|"); text != want {
			t.Errorf("%d lines:\n%s, want\n%s", most, text, want)
		}
	}
	if n := strings.Count(string(r.AppendText(nil, 1<<20)), "\n"); n != 4+44 {
		t.Errorf("%d lines", n)
	}
	one := &Report{Threads: r.Threads[2:]}
	if n := strings.Count(string(one.AppendText(nil, 40)), "\n"); n != 40 {
		t.Errorf("%d lines of one thread", n)
	}
}

// A thread is stopped only in a call that the kernel restarts as if nothing had been.
func TestRestarts(t *testing.T) {
	var pipe, pair, limited [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*[2]int{&pair, &limited} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		*p = fds
	}
	if err := unix.SetsockoptTimeval(limited[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range [][2]int{pipe, pair, limited} {
		defer unix.Close(p[0])
		defer unix.Close(p[1])
	}
	for _, tt := range []struct {
		name string
		args [6]uint64
		want bool
	}{
		{"read", [6]uint64{uint64(pipe[0])}, true},
		{"read", [6]uint64{uint64(pair[0])}, true},
		{"read", [6]uint64{uint64(limited[0])}, false},
		{"read", [6]uint64{uint64(file.Fd())}, false},
		{"read", [6]uint64{1 << 20}, false},
		{"recvfrom", [6]uint64{uint64(pair[0])}, true},
		{"recvfrom", [6]uint64{uint64(pair[0]), 0, 0, unix.MSG_WAITALL}, false},
		{"recvmsg", [6]uint64{uint64(pair[0]), 0, unix.MSG_WAITALL}, false},
		{"recvmsg", [6]uint64{uint64(limited[0])}, false},
		{"write", [6]uint64{uint64(pipe[1])}, false},
		{"futex", [6]uint64{0, 0 | 128}, true},
		{"futex", [6]uint64{0, 9 | 256, 0, 1}, true},
		{"futex", [6]uint64{0, 11}, false}, // FUTEX_WAIT_REQUEUE_PI
		{"fcntl", [6]uint64{3, unix.F_SETLKW}, true},
		{"fcntl", [6]uint64{3, unix.F_SETLEASE}, false},
		{"wait4", [6]uint64{}, true},
		{"ppoll", [6]uint64{}, true},
		{"ppoll", [6]uint64{0, 0, 0x7fff12345678}, true},
		{"ppoll", [6]uint64{0, 0, 0x401000}, false}, // memory that may be constant
		{"pselect6", [6]uint64{0, 0, 0, 0, 0x7fff12340000}, true},
		{"select", [6]uint64{0, 0, 0, 0, 0x401000}, false},
		{"epoll_wait", [6]uint64{}, false},
		{"rt_sigtimedwait", [6]uint64{}, false},
		{"connect", [6]uint64{uint64(pair[0])}, false},
		{"", [6]uint64{}, false},
	} {
		th := &thread{Thread: Thread{PID: os.Getpid(), TID: os.Getpid()}, name: tt.name, args: tt.args, seen: tracer.Thread{SP: 0x7fff12345600}}
		if got := th.restarts(); got != tt.want {
			t.Errorf("%s%v: %v", tt.name, tt.args, got)
		}
	}
}

// A program whose symbols are harmful has no variables.
func TestVariableHostile(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := variable(bytes.NewReader(self), "runtime.allgs"); at == 0 {
		t.Log("the test has no symbols, as go test links it")
	}
	for i := range 64 { // each byte of the header in turn
		b := bytes.Clone(self)
		for _, v := range []byte{0, 0x7f, 0xff} {
			b[i] = v
			variable(bytes.NewReader(b), "runtime.allgs")
		}
	}
	for _, text := range hostile.Texts() {
		variable(strings.NewReader(text), "x")
	}
}

// The sample of a busy thread is untrusted in size.
func TestShortSample(t *testing.T) {
	for n := range 8 * (len(sampledNumbers) + 4) {
		b := make([]byte, n)
		if n >= 8 {
			binary.NativeEndian.PutUint64(b, 2)
		}
		th := &thread{w: newWorld(), Thread: Thread{PID: os.Getpid(), TID: os.Getpid(), Kind: Busy}, sample: b}
		th.busyStack(newCallers(os.Getpid(), unwindWalker()))
	}
}

func unwindWalker() *unwind.Walker { return unwind.NewWalker(tracer.Architecture) }

// A stack that may be a mixture is not shown: the thread has gone on while it was read.
func TestStackOfMoved(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	var seen tracer.Thread
	tracetest.Wait(t, "the process sleeps", func() bool {
		seen, _ = tracer.ReadThread(pid)
		return strings.Contains(seen.Wait, "nanosleep")
	})
	for _, moved := range []uint64{0, 8} {
		th := &thread{w: newWorld(), Thread: Thread{PID: pid, TID: pid}, seen: seen, name: "x"}
		th.seen.SP += moved
		th.takeStack(newCallers(pid, unwindWalker()), time.Now().Add(time.Minute))
		if (th.stack == nil) != (moved != 0) || strings.Contains(th.Note, "it has gone on") != (moved != 0) {
			t.Errorf("moved by %d: %v, %q", moved, th.stack, th.Note)
		}
	}
}
