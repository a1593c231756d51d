package output

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

type costEvent struct {
	src  *Source
	id   posixtrace.EventID
	pid  int
	at   int64 // in microseconds
	data string
}

// costText returns what Annotate writes at each event, and at the end, between bars.
func costText(a *Annotate, events []costEvent) string {
	b := a.Begin(nil)
	for _, e := range events {
		b = a.Append(b, e.src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.pid, UnixNano: t0 + 1000*e.at}, Data: []byte(e.data)})
		b = append(b, '|')
	}
	return strings.ReplaceAll(string(a.End(b)), "   0.", "0.")
}

func TestCost(t *testing.T) {
	const out, err, exit = posixtrace.EventOutputStdout, posixtrace.EventOutputStderr, posixtrace.EventProcExit
	x, y := testSource(), testSource()
	for _, tt := range []struct {
		name   string
		events []costEvent
		want   string
	}{
		{"nothing", nil, ""},
		{"a line appears when its cost is known", []costEvent{{x, out, 1, 0, "\x00a"}, {x, err, 1, 5, "\x00b"}, {x, out, 1, 7, "\x00c"}},
			"|0.000005 a\n|0.000002 b\n|          - c\n"},
		{"the end of the command is the end of its last line", []costEvent{{x, out, 1, 0, "\x00a"}, {x, exit, 2, 3, ""}, {x, exit, 1, 5, ""}, {x, exit, 3, 7, ""}, {x, out, 1, 9, "\x00late"}},
			"||||0.000009 a\n|0.000000 late\n"},
		{"of the command that wrote it", []costEvent{{x, out, 1, 0, "\x00a"}, {x, exit, 1, 5, ""}, {x, exit, 2, 7, ""}}, "|||0.000005 a\n"},
		{"before it, without a newline", []costEvent{{x, out, 1, 0, "\x01a"}, {x, exit, 1, 5, ""}, {x, err, 1, 6, "\x00b"}},
			"||0.000006 a\n|0.000000 b\n"},
		{"parts of a line are one line", []costEvent{{x, out, 1, 0, "\x02a"}, {x, out, 1, 5, "\x00b"}, {x, out, 1, 6, "\x00c"}},
			"||0.000006 ab\n|          - c\n"},
		{"without a newline", []costEvent{{x, out, 1, 0, "\x01a"}, {x, err, 1, 5, "\x00b"}, {x, out, 1, 6, "\x01c"}}, "|0.000005 a\n|0.000001 b\n|          - c"},
		{"the rest was not recorded", []costEvent{{x, out, 1, 0, "\x02a"}}, "|          - a\n"},
		{"two logs", []costEvent{{x, out, 1, 0, "\x00a"}, {y, out, 1, 1, "\x00A"}, {y, out, 1, 4, "\x00B"}, {x, out, 1, 9, "\x00b"}, {y, exit, 1, 20, ""}, {x, exit, 1, 30, ""}},
			"|||0.000009 a\n0.000003 A\n|||0.000016 B\n0.000021 b\n"},
		{"other events", []costEvent{{x, out, 1, 0, "\x00a"}, {x, 33, 1, 5, "x"}, {x, exit, 1, 6, ""}},
			"|0.000005 a\n||0.000001 [build.begin \"x\"]\n"},
		{"a clock that jumped", []costEvent{{x, out, 1, 9, "\x00a"}, {x, out, 1, 5, "\x00b"}}, "|  -0.000004 a\n|          - b\n"},
	} {
		if got := costText(&Annotate{Text: &Text{Style: CostTime}}, tt.events); got != tt.want {
			t.Errorf("%s: got\n%s want\n%s", tt.name, got, tt.want)
		}
	}
	// A line whose end is selected, too, ends with it.
	a := &Annotate{Text: &Text{Style: CostTime}, Exits: true}
	if got, want := costText(a, []costEvent{{x, out, 1, 0, "\x00a"}, {x, exit, 1, 5, ""}}), "|0.000005 a\n|0.000000 [proc.exit]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The lines after one whose cost is not known are kept within a limit.
func TestCostBound(t *testing.T) {
	x, y := testSource(), testSource()
	a := &Annotate{Text: &Text{Style: CostTime}}
	long := "\x02" + strings.Repeat("x", 1<<16)
	var b []byte
	lines, most := 0, 0
	add := func(src *Source, at int64, data string) {
		b = a.Append(b[:0], src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventOutputStdout, PID: 1, UnixNano: t0 + at}, Data: []byte(data)})
		lines += strings.Count(string(b), "\n")
		most = max(most, cap(a.costs.lines))
	}
	add(x, 0, "\x00waits")
	for i := range int64(3 * maxCostLines) {
		add(y, i*1000, "\x00y")
		if i == maxCostLines+1 && !strings.Contains(string(b), ">0.016384 waits\n") && lines == 0 {
			t.Errorf("nothing at the limit: %.100q", b)
		}
	}
	if lines < 3*maxCostLines-3 || most > 8*maxCostLines {
		t.Errorf("%d lines, room for %d", lines, most)
	}
	size := 0
	for range 200 { // one line without an end
		add(x, 1<<40, long)
		size += len(b)
	}
	if size < 200<<16 || a.costs.bytes > maxCostBytes {
		t.Errorf("%d bytes written, %d kept", size, a.costs.bytes)
	}
}
