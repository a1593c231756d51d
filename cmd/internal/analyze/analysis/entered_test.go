package analysis

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The call that a process was in is one that a signal interrupted or that did not return, around the time in
// question; of several the longest. Only the latest are kept.
func TestEntered(t *testing.T) {
	a := New(Limits{Rows: 3})
	names := map[posixtrace.EventID]string{3600: "syscall.read", 3601: "syscall.exit_group", 3602: "syscall.futex"}
	s := a.NewSource(func(id posixtrace.EventID) string { return names[id] })
	call := func(id posixtrace.EventID, pid int, at int64, d posixtrace.SyscallData) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: d.Append(nil)}})
	}
	arg := func(text string, str bool) posixtrace.SyscallArg {
		return posixtrace.SyscallArg{Value: []byte(text), String: str}
	}
	call(3600, 1, 100, posixtrace.SyscallData{Duration: 90, Returned: true}) // ended by itself
	call(3600, 1, 200, posixtrace.SyscallData{Duration: 50, Args: []posixtrace.SyscallArg{arg("3<pipe:[7]>", false), arg("a\x1b", true)}})
	call(3602, 1, 201, posixtrace.SyscallData{Duration: 20, Restarted: 512, Returned: true})
	call(3601, 1, 202, posixtrace.SyscallData{Duration: 190})
	call(3602, 2, 300, posixtrace.SyscallData{Duration: 10, Result: -1, Errno: 4, Returned: true})
	for _, test := range []struct {
		pid        int
		at, before int64
		want       string
	}{
		{1, 180, 180, "read(3<pipe:[7]>, \"a\x1b\")"}, {1, 190, 190, "read(3<pipe:[7]>, \"a\x1b\")"}, {1, 149, 149, ""}, {1, 201, 201, "futex()"}, {1, 202, 999, ""},
		{2, 0, 999, "futex()"}, {2, 0, 200, ""}, {3, 0, 999, ""},
	} {
		got := ""
		if e := a.Entered(0, test.pid, test.at, test.before); e != nil {
			got = e.Call()
		}
		if got != test.want {
			t.Errorf("process %d from %d to %d: %q, want %q", test.pid, test.at, test.before, got, test.want)
		}
	}
	if a.Entered(1, 1, 0, 999) != nil || a.Entered(-1, 1, 0, 999) != nil {
		t.Error("a call of a log that is not there")
	}
	for i := range 3 * maxEntered {
		call(3602, 5, int64(1000+i), posixtrace.SyscallData{Duration: time.Duration(i), Args: []posixtrace.SyscallArg{arg(strings.Repeat("x", 500), true), arg("y", false)}})
	}
	e := a.Entered(0, 5, 0, 1<<62)
	if e == nil || e.To-e.From != 3*maxEntered-1 || len(e.Call()) > maxCallText+len("futex()...") || a.Entered(0, 2, 0, 999) != nil || len(s.entered.ring) != maxEntered {
		t.Errorf("%+v", e)
	}
}
