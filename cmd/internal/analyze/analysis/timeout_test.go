package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The command that ran when the time limit passed is the innermost one, with those around it. A line is
// a sequence of events: "1:2" process 1 forks 2, "2=x" 2 executes x, "2." 2 ends, "2!" 2 is killed by TERM,
// "T" the limit of process 1 passes.
func TestTimeout(t *testing.T) {
	for _, test := range []struct{ events, want string }{
		{"1=make 1:2 2=sh 2:3 3=sleep T 3! 2! 1!", "sleep sh make"},
		{"1=make 1:2 2=sh 2:3 3=sleep T 1! 2! 3!", "sleep sh make"},
		{"1=sleep T 1!", ""},
		{"1=sh 1=sleep T 1!", "sleep"},
		{"1=sh 1:2 T 1! 2!", ""},                        // a subshell
		{"1=sh 1:2 2:3 3=sleep T 3! 2! 1!", "sleep sh"}, // in a subshell
		{"1=sh 1:2 2=a 2. 1:3 3=b T 3! 1!", "b sh"},
		{"1=make 1:2 2=a 1:3 3=b 1:4 4=c T", "a make +2"},
		{"1=make 1:2 2=a 1:3 3=b 3. 1:4 4=c T", "a make +1"},
		{"1=sh 1:2 2=server 1:3 3=sleep 3. 1:4 4=client T", "client sh +1"},
		{"1=sh 1:2 2=server 1:3 3=client T", "server sh +1"}, // wait, perhaps
		{"1=sh 1:2 2=a 1:3 3=b 3. T", "a sh"},
		{"1=sh 1:2 2=server 2:5 5=worker 1:3 3=sleep 3. 1:4 4=client T", "client sh +1"},
		{"1=sh 1:2 2:3 2. 3=daemon T", ""}, // no child of the command any more
		{"1=sh 1:2 2=sleep 2! 1! T", ""},
		{"T", "unknown"},
		{"1=sh 1:2 T 2=sleep T 2! 1!", ""},
	} {
		a := New(Limits{Rows: 3, Each: func(*Interval) {}})
		l := newFailLog(a)
		for _, e := range strings.Fields(test.events) {
			var pid, child int
			fmt.Sscanf(e, "%d:%d", &pid, &child)
			switch {
			case e == "T":
				l.add(posixtrace.EventProcTimeout, 1, string((&posixtrace.TimeoutData{Limit: time.Second, Signal: 15}).Append(nil)))
			case child != 0:
				l.add(posixtrace.EventProcFork, pid, string((&posixtrace.ForkData{Child: child}).Append(nil)))
			case strings.HasSuffix(e, "."):
				l.exit(pid, 0)
			case strings.HasSuffix(e, "!"):
				l.add(posixtrace.EventProcExit, pid, string((&posixtrace.ExitData{Signal: 15}).Append(nil)))
			default:
				_, name, _ := strings.Cut(e, "=")
				l.add(posixtrace.EventProcExec, pid, string((&posixtrace.ExecData{Path: "/bin/" + name, Argv: []string{name}}).Append(nil)))
			}
		}
		a.Finish()
		limit := a.Timeout(0)
		var got []string
		for _, c := range limit.Running {
			got = append(got, c.Program())
		}
		if limit.Others > 0 {
			got = append(got, fmt.Sprintf("+%d", limit.Others))
		}
		runs := a.Runs()
		if len(runs) == 0 {
			got = append(got, "unknown")
		} else if r := runs[0]; !r.TimedOut() || !r.Failed() {
			t.Errorf("%s: the run has not timed out", test.events)
		}
		if _, failed := a.Commands(); len(failed) > 0 {
			t.Errorf("%s: %s is to blame", test.events, failed[0].Label())
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.events, got, test.want)
		}
	}
}

// Malformed data of a time-out changes nothing.
func TestTimeoutMalformed(t *testing.T) {
	a := New(Limits{Rows: 3})
	l := newFailLog(a)
	l.exec(1)
	l.add(posixtrace.EventProcTimeout, 1, "short")
	l.exit(1, 3)
	a.Finish()
	if r := a.Runs()[0]; r.TimedOut() || a.Timeout(0) != nil {
		t.Errorf("timed out: %+v", r.Timeout)
	}
	if _, failed := a.Commands(); len(failed) != 1 {
		t.Errorf("%d commands to blame, want 1", len(failed))
	}
}
