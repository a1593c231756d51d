package analysis

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A run ended out of memory only where the samples show it: KILL ended it that no time limit sent, and the
// kernel's log names it, or names no process of the command while the cgroup's count rose.
func TestOutOfMemory(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after int64 // kills of the cgroup
		process       int   // that the kernel's log names
		signal        int
		limit         bool
		samples       int
		want          bool
	}{
		{name: "the count rose", after: 1, signal: 9, samples: 2, want: true},
		{name: "the log names it", process: 1, signal: 9, samples: 2, want: true},
		{name: "the log names another", after: 1, process: 2, signal: 9, samples: 2},
		{name: "the count was that before", before: 3, after: 3, signal: 9, samples: 2},
		{name: "the count fell", before: 3, after: 1, signal: 9, samples: 2},
		{name: "another signal", after: 1, process: 1, signal: 15, samples: 2},
		{name: "it exited", after: 1, process: 1, samples: 2},
		{name: "a time limit", after: 1, signal: 9, limit: true, samples: 2},
		{name: "one sample", after: 1, signal: 9, samples: 1},
		{name: "no samples", signal: 9},
	} {
		a := New(Limits{Rows: 3})
		l := newFailLog(a)
		l.add(posixtrace.EventProcExec, 1, string((&posixtrace.ExecData{Path: "/bin/a", Argv: []string{"a"}}).Append(nil)))
		d := posixtrace.ResSampleData{Number: 1, Full: true, Group: true, OOMKills: test.before, RSS: 4096, Changes: []posixtrace.ResProcess{{PID: 1, Program: "a", RSS: 4096}, {PID: 2, Program: "b"}}}
		for n := range test.samples {
			if n == 1 {
				d = posixtrace.ResSampleData{Number: 2, Group: true, OOMKills: test.after, OOMProcess: test.process, Ended: []int{1, 2}}
			}
			l.add(posixtrace.EventResSample, 1, string(d.Append(nil)))
		}
		if test.limit {
			l.add(posixtrace.EventProcTimeout, 1, string((&posixtrace.TimeoutData{Limit: time.Second, Signal: 9}).Append(nil)))
		}
		l.add(posixtrace.EventProcExit, 1, string((&posixtrace.ExitData{Signal: test.signal}).Append(nil)))
		a.Finish()
		if got := a.Runs()[0].OutOfMemory(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		if m := a.Samples(0); test.process == 2 && m.Victim != "b" {
			t.Errorf("%s: the victim is %q", test.name, m.Victim)
		}
		if m := a.Samples(0); m != nil && (len(m.Peak.Programs) != 2 || m.Peak.Programs[0].Name != "a") {
			t.Errorf("%s: %+v", test.name, m.Peak)
		}
	}
}

// Malformed samples, and those whose start is lost, say nothing that is not in them.
func TestSamplesMalformed(t *testing.T) {
	a := New(Limits{Rows: 3})
	l := newFailLog(a)
	for _, data := range []string{"", "short", strings.Repeat("\xff", 136), strings.Repeat("\xff", 4000)} {
		l.add(posixtrace.EventResSample, 1, data)
	}
	d := posixtrace.ResSampleData{Number: 9, RSS: 1 << 62, Changes: []posixtrace.ResProcess{{PID: 1, RSS: -1 << 40}}}
	l.add(posixtrace.EventResSample, 1, string(d.Append(nil)))
	a.Finish()
	if m := a.Samples(0); len(m.Peak.Programs) > 3 || m.Kills() < 0 {
		t.Errorf("%+v", m)
	}
}
