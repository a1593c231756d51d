package culprit

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestOf(t *testing.T) {
	type data = posixtrace.HangData
	const busy, sleeps, stopped, runs = posixtrace.HangBusy, posixtrace.HangSleeps, posixtrace.HangStopped, posixtrace.HangRuns
	shell := Thread{1, 1, data{Call: "wait4(-1)", ForPID: 2, ForTID: 2}}
	hidden := Thread{1, 1, data{Wait: "do_wait", For: "one of its 2 children"}} // its call cannot be read
	for _, tt := range []struct {
		name string
		list []Thread
		want int
	}{
		{"no thread", nil, -1},
		{"one", []Thread{{1, 1, data{Kind: runs}}}, 0},
		{"a chain", []Thread{shell, {2, 2, data{Call: "read(0)", ForPID: 3}}, {3, 3, data{Kind: sleeps}}}, 1},
		{"a ring", []Thread{shell, {2, 2, data{Call: "read(0)", ForPID: 3}}, {3, 3, data{Call: "read(0)", ForPID: 2}}}, 2},
		{"a deadlock", []Thread{shell, {2, 2, data{Call: "wait4(3)", Stuck: true, Cycle: true}}, {3, 3, data{Call: "read(0)", Stuck: true, Cycle: true}}}, 2},
		{"a busy thread of several", []Thread{{1, 1, data{Kind: runs}}, {1, 2, data{Kind: busy}}}, 1},
		{"a thread that waits for a process", []Thread{{1, 1, data{Call: "futex(0)", ForPID: 1, ForTID: 2}}, {1, 2, data{Call: "read(0)", ForPID: 9}}}, 1},
		{"two of them", []Thread{{1, 1, data{Call: "futex(0)"}}, {1, 2, data{Call: "read(0)", ForPID: 9}}, {1, 3, data{Call: "wait4(9)", ForPID: 9}}}, 2},
		{"the reader of a pipe", []Thread{shell, {2, 2, data{Kind: sleeps}}, {3, 3, data{Call: "read(0)", ForPID: 2}}}, 2},
		{"a stopped child", []Thread{shell, {2, 2, data{Kind: stopped}}}, 1},
		{"a thread with a mutex", []Thread{{1, 1, data{Call: "futex(0)", ForPID: 1, ForTID: 3}}, {1, 2, data{Call: "futex(0)"}}, {1, 3, data{Call: "read(0)", ForPID: 9}}}, 2},
		// It is not known for which child the shell waits.
		{"one of several children", []Thread{hidden, {2, 2, data{Kind: sleeps}}, {3, 3, data{Wait: "pipe_read", ForPID: 2}}}, 2},
		{"one of several that compute", []Thread{hidden, {2, 2, data{Kind: sleeps}}, {3, 3, data{Kind: busy}}}, 2},
		{"one of several that sleep", []Thread{hidden, {2, 2, data{Kind: sleeps}}, {3, 3, data{Kind: sleeps}}}, 0},
		{"no child", []Thread{{1, 1, data{Call: "read(5)", Wait: "do_wait_intr_irq", ForPID: 2}}, {2, 2, data{Kind: sleeps}}}, 0},
	} {
		if got := Of(tt.list); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
