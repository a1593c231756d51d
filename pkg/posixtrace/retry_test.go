package posixtrace

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

func init() {
	// misser: passes a trace point while a resource is missing, then others until a line of
	// input ends it.
	tracetest.Helpers["misser"] = func(args []string) {
		tracee.SetRetryMin(20 * time.Millisecond)
		id := EventUnnamed
		if args[0] != "no proc" {
			var err error
			id, err = OpenEventID("missed")
			tracetest.Check(err == nil, "OpenEventID: %v", err)
		}
		in := bufio.NewScanner(os.Stdin)
		fmt.Println(os.Getpid())
		in.Scan()
		back := lack(args[0])
		tracee.SetRetryMin(time.Hour)
		for range 1000 {
			Event(id, []byte("too early"))
		}
		// All those trace points made one attempt.
		once := tracee.Self.RetrySoon()
		tracee.SetRetryMin(20 * time.Millisecond)
		back()
		fmt.Println(once)
		in.Scan()
		done := make(chan bool)
		go func() {
			in.Scan()
			close(done)
		}()
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				Event(id, []byte("at last"))
			}
		}
	}
}

// lack takes away from this process a resource that it needs to connect to a stream.
func lack(what string) (back func()) {
	limit := func(kind int, n uint64) func() {
		var old unix.Rlimit
		unix.Getrlimit(kind, &old)
		err := unix.Setrlimit(kind, &unix.Rlimit{Cur: n, Max: old.Max})
		tracetest.Check(err == nil, "Setrlimit: %v", err)
		return func() { unix.Setrlimit(kind, &old) }
	}
	switch what {
	case "descriptors":
		next, err := unix.Dup(0)
		tracetest.Check(err == nil, "Dup: %v", err)
		unix.Close(next)
		return limit(unix.RLIMIT_NOFILE, uint64(next))
	case "memory":
		b, _ := os.ReadFile("/proc/self/statm")
		pages, _ := strconv.ParseUint(strings.Fields(string(b))[0], 10, 64)
		return limit(unix.RLIMIT_AS, pages*uint64(os.Getpagesize())+8<<20)
	case "no proc":
		err := noProc()
		tracetest.Check(err == nil, "cannot: %v", err)
		return func() { unix.Unmount("/proc", unix.MNT_DETACH) }
	}
	return func() {}
}

// A traced process that cannot connect to its stream counts that in the stream, and connects as
// soon as it can.
func TestMissedConnectionIsReportedAndRetried(t *testing.T) {
	for _, c := range []struct {
		what string
		no   syscall.Errno
		late bool // the process cannot report it before it has the resource again
	}{
		{"descriptors", syscall.EMFILE, true},
		{"memory", syscall.ENOMEM, false},
		{"slots", syscall.EAGAIN, false},
		{"no proc", syscall.ENOSYS, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			attr := &syscall.SysProcAttr{}
			a := Attr{StreamSize: 16 << 20}
			if c.what == "no proc" {
				a.Inheritance = InheritChildren
				s := running(t, 0, a)
				info, err := s.Info()
				tracetest.OK(t, "Info", err)
				t.Setenv("PTRACE_STREAM", info.Path)
				if os.Geteuid() != 0 {
					attr.Cloneflags = syscall.CLONE_NEWUSER
					attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
					attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
				}
				attr.Unshareflags = syscall.CLONE_NEWNS
				misserOf(t, c.what, attr, func(int) *Stream { return s }, c.no, c.late)
				return
			}
			misserOf(t, c.what, attr, func(pid int) *Stream { return running(t, pid, a) }, c.no, c.late)
		})
	}
}

func misserOf(t *testing.T, what string, attr *syscall.SysProcAttr, create func(pid int) *Stream, no syscall.Errno, late bool) {
	t.Helper()
	m, err := tracetest.StartAs(t, attr, "misser", what)
	tracetest.Need(t, err == nil || attr.Unshareflags == 0, "namespaces of our own")
	tracetest.OK(t, "Start", err)
	m.Line()
	s := create(m.PID)
	var slots []uint64
	for what == "slots" {
		slot, ok := s.c.Mem.TakeSlot(sys.SelfProc(), nil)
		if !ok {
			break
		}
		slots = append(slots, slot)
	}
	fmt.Fprintln(m.In)
	l := m.Line()
	tracetest.Need(t, !strings.HasPrefix(l, "cannot: "), "mounts of our own")
	if l != "1h0m0s" {
		t.Errorf("1000 trace points ended with a pause of %s", l)
	}
	if list := drain(t, s); len(list) != 0 {
		t.Errorf("%v were recorded", list)
	}
	reported := func() (Status, bool) {
		st, err := s.PeekStatus()
		tracetest.OK(t, "PeekStatus", err)
		return st, st.Missed == 1 && st.MissedError == no
	}
	if st, ok := reported(); !ok && !late {
		t.Errorf("missed %d, %v; want 1, %v", st.Missed, st.MissedError, no)
	}
	for _, slot := range slots {
		s.c.Mem.FreeSlot(slot)
	}
	fmt.Fprintln(m.In)
	tracetest.Wait(t, "an event", func() bool {
		list := drain(t, s)
		return len(list) > 0 && list[0].data == "at last"
	})
	if st, ok := reported(); !ok {
		t.Errorf("afterwards missed %d, %v; want 1, %v", st.Missed, st.MissedError, no)
	}
	fmt.Fprintln(m.In)
}
