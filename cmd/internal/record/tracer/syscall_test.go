package tracer

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A call whose return is not reported is recorded, as one that did not return, when the next
// one starts. A call that a seccomp stop reports again is recorded once.
func TestCallWithoutReturnIsRecorded(t *testing.T) {
	ownTraceDir(t)
	s := runningStream(t)
	defer s.Shutdown()
	tr := &tracer{stream: s}
	var err error
	if tr.rec, err = s.Recorder(); err != nil {
		t.Fatal(err)
	}
	defer tr.rec.Close()
	for _, nr := range []int{unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_WAIT4} {
		tr.wanted[nr] = true
	}
	if err := tr.register(); err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	k := &task{tid: self, pid: self}
	enter := func(op uint8, nr int) {
		info := syscallInfo{op: op, arch: auditArch, ip: uint64(nr) << 8}
		info.u[0] = uint64(nr)
		tr.enter(k, &info)
	}
	leave := func(result int) {
		info := syscallInfo{op: unix.PTRACE_SYSCALL_INFO_EXIT, arch: auditArch}
		info.u[0] = uint64(result)
		tr.leave(k, &info)
	}
	enter(unix.PTRACE_SYSCALL_INFO_ENTRY, unix.SYS_WAIT4) // its return is missing
	enter(unix.PTRACE_SYSCALL_INFO_ENTRY, unix.SYS_GETPID)
	leave(1)
	enter(unix.PTRACE_SYSCALL_INFO_SECCOMP, unix.SYS_WAIT4) // and here
	enter(unix.PTRACE_SYSCALL_INFO_SECCOMP, unix.SYS_GETPPID)
	leave(2)
	enter(unix.PTRACE_SYSCALL_INFO_ENTRY, unix.SYS_GETPID) // one call
	enter(unix.PTRACE_SYSCALL_INFO_SECCOMP, unix.SYS_GETPID)
	leave(3)
	leave(4) // of nothing
	want := []struct {
		name     string
		result   int64
		returned bool
	}{{"syscall.wait4", 0, false}, {"syscall.getpid", 1, true}, {"syscall.wait4", 0, false}, {"syscall.getppid", 2, true}, {"syscall.getpid", 3, true}}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for {
		ev, err := r.Next()
		if err != nil {
			break
		}
		if ev.ID == posixtrace.EventStart {
			continue
		}
		d, err := posixtrace.DecodeSyscall(ev.Data)
		if err != nil {
			t.Fatal(err)
		}
		if n < len(want) {
			if w := want[n]; r.EventName(ev.ID) != w.name || d.Result != w.result || d.Returned != w.returned {
				t.Errorf("call %d is %s with %d, %v; want %+v", n, r.EventName(ev.ID), d.Result, d.Returned, w)
			}
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d calls, want %d", n, len(want))
	}
}
