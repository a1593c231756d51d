package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// busyBuild is a build of two files, one after the other, with the processor time of both, and with how
// long they wait for a processor, in milliseconds.
func busyBuild(a, b, waitA, waitB int64) *script {
	s := &script{}
	const ms = time.Millisecond
	exit := func(at int64, pid int, d posixtrace.ExitData) {
		s.add(at, posixtrace.EventProcExit, pid, d.Append(nil))
	}
	endA := 10 + a + waitA
	endB := endA + 20 + b + waitB
	s.exec(0, 1, "make")
	s.fork(5, 1, 2)
	s.exec(10, 2, "cc", "a.c")
	exit(endA, 2, posixtrace.ExitData{User: time.Duration(a) * ms, RunDelay: time.Duration(waitA) * ms, Processors: 2})
	s.fork(endA+10, 1, 3)
	s.exec(endA+20, 3, "cc", "b.c")
	exit(endB, 3, posixtrace.ExitData{User: time.Duration(b) * ms, RunDelay: time.Duration(waitB) * ms, Processors: 2})
	exit(endB+10, 1, posixtrace.ExitData{User: time.Duration(a+b) * ms, Processors: 2, Others: time.Duration(2*(waitA+waitB)) * ms, Idle: ms})
	return s
}

// A run that took longer because others had the processors is not blamed on its commands, unless one of
// them did more work, too.
func TestBusier(t *testing.T) {
	o := defaults()
	quiet := [4]int64{500, 500, 5, 5}
	for _, tt := range []struct {
		name     string
		old, new [4]int64
		busier   bool
		waited   int
		want     string
	}{
		{"busier", quiet, [4]int64{500, 500, 1000, 1500}, true, 2, ""},
		{"less busy", [4]int64{500, 500, 1000, 1500}, quiet, true, 2, ""},
		{"one waited", quiet, [4]int64{500, 500, 5, 1500}, true, 1, ""},
		{"work, too", quiet, [4]int64{1000, 500, 1000, 1500}, true, 1, "command slower cc a.c 1495;"},
		{"as much work as wait", [4]int64{500, 1500, 5, 5}, [4]int64{1500, 500, 1000, 1000}, false, 0, "command slower cc a.c 1990;"},
		{"more work than wait", quiet, [4]int64{3000, 500, 1000, 1000}, false, 0, "command slower cc a.c 3495;command slower cc b.c 995;"},
		{"work alone", quiet, [4]int64{1500, 500, 5, 5}, false, 0, "command slower cc a.c 1000;"},
		{"as busy as before", [4]int64{500, 500, 1000, 1000}, [4]int64{1500, 500, 1000, 1000}, false, 0, "command slower cc a.c 1000;"},
		{"work and less wait", [4]int64{500, 500, 1000, 1000}, [4]int64{1500, 500, 1000, 5}, false, 0, "command slower cc a.c 1000;command faster cc b.c -995;"},
	} {
		r := Compare(o, []*Run{busyBuild(tt.old[0], tt.old[1], tt.old[2], tt.old[3]).run(o)}, []*Run{busyBuild(tt.new[0], tt.new[1], tt.new[2], tt.new[3]).run(o)})
		notes := strings.Count(strings.Join(r.Notes, "\n"), "only because")
		if got := text(r); got != tt.want || (r.Busier != nil) != tt.busier || r.Waited != tt.waited || notes != min(tt.waited, 1) {
			t.Errorf("%s: %q, busier %+v, waited %d, notes %q; want %q, %v, %d", tt.name, got, r.Busier, r.Waited, r.Notes, tt.want, tt.busier, tt.waited)
		}
		golden := &Options{Golden: true}
		if r := Compare(golden, []*Run{busyBuild(tt.old[0], tt.old[1], tt.old[2], tt.old[3]).run(golden)}, []*Run{busyBuild(tt.new[0], tt.new[1], tt.new[2], tt.new[3]).run(golden)}); r.Busier != nil || r.Differ() {
			t.Errorf("%s: what happened differs: %+v", tt.name, r)
		}
	}
}

// What waited beside the cause is not the cause.
func TestBusierBeside(t *testing.T) {
	o := defaults()
	// Both at the same time: one sleeps, the other waits for a processor.
	build := func(sleep, wait int64) *Run {
		s := &script{}
		end := max(sleep, wait)
		s.exec(0, 1, "make")
		s.fork(0, 1, 2)
		s.fork(0, 1, 3)
		s.exec(0, 2, "sleep")
		s.exec(0, 3, "cc")
		s.add(wait, posixtrace.EventProcExit, 3, (&posixtrace.ExitData{RunDelay: time.Duration(wait) * time.Millisecond, Processors: 2}).Append(nil))
		s.exit(sleep, 2, 0)
		s.add(end+1, posixtrace.EventProcExit, 1, (&posixtrace.ExitData{Processors: 2, Others: time.Minute}).Append(nil))
		return s.run(o)
	}
	r := Compare(o, []*Run{build(200, 1)}, []*Run{build(1000, 900)})
	if got := text(r); r.Busier != nil || got != "command slower sleep 800;" || !strings.Contains(strings.Join(r.Notes, "\n"), "waited for a processor in 90 % of the wall time instead of 0 %, too") {
		t.Errorf("%s, busier %+v, notes %q", got, r.Busier, r.Notes)
	}
}
