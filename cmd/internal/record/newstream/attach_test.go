package newstream

import (
	"strings"
	"testing"
)

// The reason and the way out are those of the obstacle that counts.
func TestRefusal(t *testing.T) {
	const ours, others = "1000\t1000\t1000\t1000", "0\t0\t0\t0"
	for _, tt := range []struct {
		uid, tracer string
		euid        int
		scope       string
		reason, way string
	}{
		{ours, "7", 1000, "1\n", "process 7 traces it already, and a process has one tracer", ""},
		{ours, "0", 0, "3\n", "kernel.yama.ptrace_scope is 3", "started again"},
		{others, "0", 1000, "", "it belongs to another user", "sudo"},
		{others, "0", 1000, "1\n", "it belongs to another user", "sudo"},
		{ours, "0", 1000, "1\n", "kernel.yama.ptrace_scope is 1", "start the program under ptrace-run -e"},
		{ours, "0", 1000, "2\n", "kernel.yama.ptrace_scope is 2", "sudo"},
		{ours, "0", 1000, "0\n", "it is protected", "sudo"},
		{ours, "0", 1000, "", "it is protected", "sudo"},
		{ours, "0", 0, "", "ptrace(2) is refused here", "--cap-add=SYS_PTRACE"},
	} {
		reason, way := refusal(map[string]string{"Uid": tt.uid, "TracerPid": tt.tracer}, tt.euid, tt.scope)
		if !strings.Contains(reason, tt.reason) || !strings.Contains(way, tt.way) || tt.way == "" && way != "" {
			t.Errorf("%+v: %q, %q", tt, reason, way)
		}
	}
}
