package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// chromeEvent is one of traceEvents, as the viewers' format has it.
type chromeEvent struct {
	Name, Cat, Ph, S string
	Ts               *float64
	PID, TID         *int
	Args             struct{ Data, Name string }
}

func readChrome(t *testing.T, s string) []chromeEvent {
	t.Helper()
	var doc struct {
		DisplayTimeUnit string
		TraceEvents     []chromeEvent
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return doc.TraceEvents
}

// validateChrome checks what viewers rely on: every event has its members, times
// do not go back, and slices nest within their lane and end.
func validateChrome(t *testing.T, events []chromeEvent) {
	t.Helper()
	type lane struct{ pid, tid int }
	open, last := map[lane][]string{}, 0.0
	named := map[string]bool{}
	for i, e := range events {
		if e.Name == "" || e.Cat == "" || e.Ts == nil || e.PID == nil || e.TID == nil {
			t.Fatalf("event %d lacks a member: %+v", i, e)
		}
		if *e.Ts < last {
			t.Errorf("event %d goes back in time: %+v", i, e)
		}
		last = *e.Ts
		l := lane{*e.PID, *e.TID}
		switch e.Ph {
		case "B":
			open[l] = append(open[l], e.Name)
		case "E":
			n := len(open[l]) - 1
			if n < 0 || open[l][n] != e.Name {
				t.Fatalf("event %d ends %q, open in its lane are %q", i, e.Name, open[l])
			}
			open[l] = open[l][:n]
		case "i":
			if e.S != "t" && e.S != "p" && e.S != "g" {
				t.Errorf("event %d has scope %q", i, e.S)
			}
		case "M":
			named[fmt.Sprint(e.Name, l)] = true
		default:
			t.Errorf("event %d has phase %q", i, e.Ph)
		}
	}
	for l, names := range open {
		if len(names) > 0 {
			t.Errorf("lane %v: still open are %q", l, names)
		}
		if !named[fmt.Sprint("process_name", lane{l.pid, 0})] || !named[fmt.Sprint("thread_name", l)] {
			t.Errorf("lane %v has no name", l)
		}
	}
}

// In short: phase, name, process/thread and data of each event.
func TestChrome(t *testing.T) {
	names := map[posixtrace.EventID]string{33: "a.begin", 34: "a.end", 35: "b.begin", 36: "b.end", 37: "mark \x1b",
		posixtrace.EventProcExec: "proc.exec", posixtrace.EventProcExit: "proc.exit", posixtrace.EventOverflow: "posix_trace_overflow"}
	src := NewSource(func(id posixtrace.EventID) string { return names[id] })
	exec := string((&posixtrace.ExecData{Path: "/bin/sh", Argv: []string{"sh", "x"}}).Append(nil))
	exit := string((&posixtrace.ExitData{Status: 3}).Append(nil))
	for _, tt := range []struct {
		name   string
		events []struct {
			id       posixtrace.EventID
			pid, tid int
			data     string
		}
		want string
	}{
		{"nothing", nil, ""},
		{"a slice and a mark", evs{{33, 7, 8, "say \"hi\"\n"}, {37, 7, 8, "\xff"}, {34, 7, 8, ""}},
			`B a 7/8 say \"hi\"\n; i mark ` + "\x1b" + ` 7/8 \xff; E a 7/8; M process_name 7/0 process; M thread_name 7/8 thread`},
		{"lanes are threads", evs{{33, 7, 7, ""}, {33, 7, 8, ""}, {34, 7, 7, ""}, {34, 7, 8, ""}},
			"B a 7/7; B a 7/8; E a 7/7; E a 7/8; M process_name 7/0 process; M thread_name 7/7 main; M thread_name 7/8 thread"},
		{"crossing slices are split", evs{{33, 7, 7, ""}, {35, 7, 7, "x"}, {34, 7, 7, ""}, {36, 7, 7, ""}},
			"B a 7/7; B b 7/7 x; E b 7/7; E a 7/7; B b 7/7; E b 7/7; M process_name 7/0 process; M thread_name 7/7 main"},
		{"an end without beginning is a mark, a beginning without end ends last", evs{{34, 7, 7, "x"}, {33, 7, 7, ""}, {37, 7, 7, ""}},
			"i a.end 7/7 x; B a 7/7; i mark \x1b 7/7; E a 7/7; M process_name 7/0 process; M thread_name 7/7 main"},
		{"processes are slices too", evs{{posixtrace.EventProcExec, 9, 9, exec}, {33, 9, 9, ""}, {posixtrace.EventProcExit, 9, 0, exit}, {posixtrace.EventProcExit, 9, 0, exit}},
			`B sh 9/9 "/bin/sh" "x"; B a 9/9; E a 9/9; E sh 9/9 status=3 user=0.000000000 system=0.000000000 maxrss=0; ` +
				"i proc.exit 9/9 status=3 user=0.000000000 system=0.000000000 maxrss=0; M process_name 9/0 sh; M thread_name 9/9 main"},
		{"what belongs to nobody is everybody's", evs{{posixtrace.EventOverflow, 0, 0, ""}},
			"i posix_trace_overflow 0/0; M process_name 0/0 stream; M thread_name 0/0 events"},
	} {
		c := &Chrome{}
		b := c.Begin(nil)
		for i, e := range tt.events {
			b = c.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.pid, TID: e.tid, UnixNano: t0 + int64(i)*1500}, Data: []byte(e.data)})
		}
		events := readChrome(t, string(c.End(b)))
		validateChrome(t, events)
		var got []string
		for _, e := range events {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %d/%d %s%s", e.Ph, e.Name, *e.PID, *e.TID, e.Args.Data, e.Args.Name)))
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%s: got\n%s want\n%s", tt.name, s, tt.want)
		}
	}
}

type evs = []struct {
	id       posixtrace.EventID
	pid, tid int
	data     string
}

// Times are exact to the nanosecond, however long the trace.
func TestChromeTimes(t *testing.T) {
	c := &Chrome{}
	b := c.Begin(nil)
	for _, at := range []int64{0, 1, 1e17 + 1} {
		b = c.Append(b, testSource(), &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 34, PID: 1, TID: 1, UnixNano: t0 + at}})
	}
	s := string(c.End(b))
	for _, want := range []string{`"ts":0.000,`, `"ts":0.001,`, `"ts":100000000000000.001,`} {
		if !strings.Contains(s, want) {
			t.Errorf("%s is not in %s", want, s)
		}
	}
}
