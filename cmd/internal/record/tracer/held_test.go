package tracer

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lateForks makes a tracer see the fork events of the command and its children late, as if the
// creating thread had been stopped before it reported them. It never sees those later than a second,
// which are lost as if the creator had been killed.
func lateForks(by time.Duration) {
	type late struct {
		tid    int
		status syscall.WaitStatus
		usage  usage
		at     time.Time
	}
	var list []late
	launched := false
	awaitStop = func(status *syscall.WaitStatus, u *usage, flags int) (int, syscall.Errno) {
		for {
			if len(list) > 0 && !time.Now().Before(list[0].at) {
				l := list[0]
				list = list[1:]
				*status, *u = l.status, l.usage
				return l.tid, 0
			}
			how := flags
			if len(list) > 0 {
				how |= unix.WNOHANG
			}
			tid, no := wait(status, u, how)
			event := int(*status) >> 16 & 0xff
			switch {
			case tid == 0 && flags&unix.WNOHANG == 0:
				time.Sleep(holdPause)
				continue
			case tid <= 0 || !status.Stopped():
			case event == unix.PTRACE_EVENT_EXEC:
				launched = true
			case launched && (event == unix.PTRACE_EVENT_FORK || event == unix.PTRACE_EVENT_VFORK || event == unix.PTRACE_EVENT_CLONE):
				if by > time.Second {
					ptraceResume(unix.PTRACE_CONT, tid, 0)
				} else {
					takeStop(tid)
					list = append(list, late{tid, *status, *u, time.Now().Add(by)})
				}
				if flags&unix.WNOHANG != 0 {
					return 0, 0
				}
				continue
			}
			return tid, no
		}
	}
}

// processEvents traces a command of the shell, which must end with status 3, and returns the names
// of the events of each process in their order, without proc. The fork event of a process adds
// "forked". while is called with the id of the command's process while it runs.
func processEvents(t *testing.T, want Want, script string, while func(command int)) (list map[int]string, command int) {
	t.Helper()
	ownTraceDir(t)
	s := runningStream(t)
	defer s.Shutdown()
	tr := startTracer(t, s, Config{Want: want})
	command = startTraced(t, tr, 2, "sh", "-c", script)
	if err := tr.Attached(); err != nil {
		t.Fatal(err)
	}
	while(command)
	var ws syscall.WaitStatus
	var err error
	for {
		if _, err = syscall.Wait4(command, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil || ws.ExitStatus() != 3 {
		t.Errorf("status %v, %v", ws, err)
	}
	if !tr.Exited() || !tr.Release() {
		t.Error("the tracer was killed")
	}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list = map[int]string{}
	for rec, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(rec.Name, "proc.")
		if !ok || name == "map" {
			continue
		}
		if list[rec.PID] += name + " "; name == "fork" {
			d, err := posixtrace.DecodeFork(rec.Data)
			if err != nil {
				t.Fatal(err)
			}
			list[d.Child] += "forked "
		}
	}
	return list, command
}

// children counts the processes other than the command, by their events.
func children(list map[int]string, command int) map[string]int {
	count := map[string]int{}
	for pid, events := range list {
		if pid != command {
			count[events]++
		}
	}
	return count
}

func nothing(int) {}

// childOf returns the process id of a child of a process, 0 if there is none.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range list {
		if child, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			if _, parent, ok := statOf(child); ok && parent == pid {
				return child
			}
		}
	}
	return 0
}

// A thread that has created a process may be stopped before it reports the fork event. That event
// nevertheless precedes those of the process.
func TestForkEventLate(t *testing.T) {
	t.Setenv("TRACER_LATE", "150ms")
	for name, want := range map[string]Want{"proc": {Proc: true}, "filter": {Proc: true, Calls: []int{unix.SYS_GETPPID}}, "every call": {Proc: true, All: true}} {
		t.Run(name, func(t *testing.T) {
			list, command := processEvents(t, want, "/bin/true; (exit 4); /bin/true & /bin/true & wait; exit 3", nothing)
			got := children(list, command)
			if list[command] != "exec fork fork fork fork exit " || got["forked exec exit "] != 3 || got["forked exit "] != 1 || len(list) != 5 {
				t.Errorf("command %s, children %v", list[command], got)
			}
		})
	}
}

// The end of a process is recorded, also if it was killed before its fork event arrived.
func TestForkEventAfterEnd(t *testing.T) {
	t.Setenv("TRACER_LATE", "500ms")
	list, command := processEvents(t, Want{Proc: true}, "(while :; do :; done) & wait; exit 3", func(command int) {
		child := childOf(t, command)
		for ; child == 0; child = childOf(t, command) {
			if !running(command) {
				t.Fatal("the command has no child")
			}
		}
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	if got := children(list, command); list[command] != "exec fork exit " || got["forked exit "] != 1 || len(list) != 2 {
		t.Errorf("command %s, children %v", list[command], got)
	}
}

// If the fork event cannot arrive any more, the process is resumed.
func TestForkEventNever(t *testing.T) {
	t.Setenv("TRACER_LATE", "1h")
	t.Setenv("TRACER_HOLD", "1h")
	list, command := processEvents(t, Want{Proc: true}, "(exit 4) & wait; exit 3", nothing)
	if got := children(list, command); list[command] != "exec exit " || got["exit "] != 1 || len(list) != 2 {
		t.Errorf("command %s, children %v", list[command], got)
	}
	// Here the command works, so that the event may arrive for all that the tracer knows.
	t.Setenv("TRACER_HOLD", "50ms")
	t.Setenv("DONE", filepath.Join(t.TempDir(), "done"))
	list, command = processEvents(t, Want{Proc: true}, `(: >"$DONE") & until [ -e "$DONE" ]; do :; done; wait; exit 3`, nothing)
	if got := children(list, command); list[command] != "exec exit " || got["exit "] != 1 || len(list) != 2 {
		t.Errorf("command %s, children %v", list[command], got)
	}
}
