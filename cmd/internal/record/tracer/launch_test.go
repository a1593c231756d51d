package tracer

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// TestMain also makes this binary a tracer. TRACER_HOLD sets how long it holds new threads at most,
// TRACER_LATE how late it sees fork events.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], Flag+"=") {
		if d, err := time.ParseDuration(os.Getenv("TRACER_HOLD")); err == nil {
			holdAtMost = d
		}
		if d, err := time.ParseDuration(os.Getenv("TRACER_LATE")); err == nil {
			lateForks(d)
		}
		if !Serve(3) {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The tracer recognizes the command even if it sees the command's first stop before the fork
// event of the launcher, which may be preempted just then. Here no new thread is held for it.
func TestCommandStopsBeforeForkEvent(t *testing.T) {
	for _, tt := range []struct {
		name string
		want Want
	}{
		{"proc", Want{Proc: true}},
		{"filter", Want{Proc: true, Calls: []int{unix.SYS_GETPPID}}},
		{"every call", Want{Proc: true, All: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ownTraceDir(t)
			t.Setenv("TRACER_HOLD", "0s")
			for range 8 {
				launchWithDaemon(t, tt.want)
			}
		})
	}
}

// startTraced starts a command, traced, and returns its process id.
func startTraced(t *testing.T, tr *Tracer, stdin int, argv ...string) int {
	t.Helper()
	c, err := child.Start(argv, &child.Attr{Env: os.Environ(), Files: [3]int{stdin, 2, 2}, Entry: child.NewEntry(tr.Stage())})
	tr.Staged()
	if err != nil {
		t.Fatal(err)
	}
	return c.PID
}

// launchWithDaemon traces a command, without its children, that leaves a process running.
func launchWithDaemon(t *testing.T, want Want) {
	t.Helper()
	s := runningStream(t)
	defer s.Shutdown()
	tr := startTracer(t, s, Config{Want: want, Alone: true})
	// The daemon lives until the other end of its input is closed.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pid := startTraced(t, tr, int(r.Fd()), "sh", "-c", "exec 3<&0; cat <&3 & exit 3")
	r.Close()
	if err := tr.Attached(); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil || ws.ExitStatus() != 3 {
		t.Fatalf("status %v, %v", ws, err)
	}
	recorded := make(chan bool, 1)
	go func() { recorded <- tr.Exited() }()
	select {
	case ok := <-recorded:
		if !ok {
			t.Error("the tracer ended before it recorded proc.exit")
		}
	case <-time.After(60 * time.Second):
		w.Close()
		t.Fatal("the tracer waits for the process that the command left")
	}
	if !tr.Release() {
		t.Error("the tracer was killed")
	}
	w.Close()
	var list []string
	rd, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	for {
		ev, err := rd.Next()
		if err != nil {
			break
		}
		name := rd.EventName(ev.ID)
		if name == "proc.map" && ev.PID == pid {
			continue // before the first system call
		}
		if strings.HasPrefix(name, "proc.") && ev.PID == pid {
			list = append(list, name)
		} else if strings.HasPrefix(name, "proc.") {
			t.Errorf("%s of process %d is recorded, want only the command", name, ev.PID)
		}
	}
	if got := strings.Join(list, " "); got != "proc.exec proc.fork proc.exit" {
		t.Errorf("the events of the command are %s, want proc.exec proc.fork proc.exit", got)
	}
}

// On a busy machine a tracer in another session than the command waits for that session's share of the
// processors, and the command at each stop for its own. Signals to the caller's process group do not reach it.
func TestTracerIsInSessionOfCaller(t *testing.T) {
	ownTraceDir(t)
	s := runningStream(t)
	defer s.Shutdown()
	tr := startTracer(t, s, Config{Want: Want{Proc: true}})
	ours, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	session, err := unix.Getsid(tr.pid)
	if err != nil {
		t.Fatal(err)
	}
	group, err := unix.Getpgid(tr.pid)
	if err != nil {
		t.Fatal(err)
	}
	if session != ours || group != tr.pid {
		t.Errorf("the tracer %d is in session %d and group %d, want %d and %d", tr.pid, session, group, ours, tr.pid)
	}
	pid := startTraced(t, tr, 0, "true")
	for {
		if _, err = syscall.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil || !tr.Release() {
		t.Errorf("wait: %v, or the tracer was killed", err)
	}
}
