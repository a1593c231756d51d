package analysis

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A pause names the line before it, and the inner command that ran meanwhile.
func TestPauses(t *testing.T) {
	w := newLog(10, BySelf)
	w.exec(0, 1, "/bin/sh", "t.sh")
	w.print(5, "=== RUN TestSlow")
	w.fork(6, 1, 2)
	w.exec(6, 2, "/bin/env", "sleep", "9")
	w.fork(7, 2, 3)
	w.exec(7, 3, "/bin/sleep", "9")
	w.exit(500, 3, 0, 1, 1)
	w.exit(510, 2, 0, 1, 1)
	w.print(515, "--- PASS: TestSlow")
	w.print(515, "=== RUN TestSpan")
	w.user(516, "step.begin", 1, "t.sh:4 wait")
	w.user(610, "step.end", 1, "0")
	w.print(615, "compiling")
	w.fork(616, 1, 4)
	w.exec(616, 4, "/bin/cc1", "x.c")
	w.print(800, "warning")
	w.exit(900, 4, 0, 1, 1)
	w.exit(905, 1, 0, 1, 1)
	w.a.Finish()
	list, lines := w.a.Pauses()
	if lines != 5 || len(list) != 5 {
		t.Fatalf("%d lines, %d pauses", lines, len(list))
	}
	for i, want := range []struct {
		ns                  int64
		line, command, span string
		start, end          bool
	}{
		{510, "=== RUN TestSlow", "sleep 9", "", false, false},
		{185, "compiling", "cc1 x.c", "", false, false},
		{105, "warning", "cc1 x.c", "", false, true},
		{100, "=== RUN TestSpan", "", "t.sh:4 wait", false, false},
		{5, "", "", "", true, false},
	} {
		p, command, span := list[i], "", ""
		if p.Command != nil {
			command = p.Command.Label()
		}
		if p.Meanwhile != nil {
			span = p.Meanwhile.Step
		}
		if p.Duration != want.ns*ms || string(p.Line) != want.line || command != want.command || span != want.span || p.Start != want.start || p.End != want.end {
			t.Errorf("pause %d: %d ms after %q, %q %q; want %+v", i, p.Duration/ms, p.Line, command, span, want)
		}
	}
}

func TestCalls(t *testing.T) {
	w := newLog(1, BySelf)
	id := posixtrace.EventID(3600) // a system type
	w.a = New(Limits{})
	w.Source = w.a.NewSource(func(posixtrace.EventID) string { return "syscall.openat" })
	if !id.System() {
		t.Fatal("not a system type")
	}
	for i := range int64(10) {
		d := posixtrace.SyscallData{Duration: 1000, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte("x"), String: true}}}
		if i%5 == 0 {
			d.Result, d.Errno = -1, 2
		}
		w.event(i, id, 1, d.Append(nil))
	}
	w.event(10, id, 1, []byte("short"))
	c := w.a.Calls()
	if len(c) != 1 || c[0].Name != "openat" || c[0].Calls != 11 || c[0].Errors != 2 || c[0].Times.Total != 10_000 || c[0].Times.Mean() != 1000 {
		t.Errorf("%+v", c[0])
	}
}
