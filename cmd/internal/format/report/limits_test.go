package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

// Too many events become fewer marks; each of them is counted in one.
func TestManyMarks(t *testing.T) {
	w := newRun()
	const most = mostMarks / 50
	w.b.marks.most = most
	const n = 5 * most
	for i := range n {
		w.user(int64(i), fmt.Sprint("tick", i%7), 1, 1+i%3, "the same")
	}
	_, r := w.page(t, Facts{})
	if got := sum(r.Marks["count"]); got != n || len(r.Marks["time"]) > most || len(r.Marks["time"]) < most/8 {
		t.Errorf("%d events of %d in %d marks", got, n, len(r.Marks["time"]))
	}
	// Marks of which no two are of one thread are left out and counted.
	w = newRun()
	w.b.marks.most = most
	for i := range n {
		w.b.marks.add(mark{at: t0, actor: 0, kind: int32(i), count: 1}, nil)
		w.b.marks.types.addString(fmt.Sprint(i))
	}
	w.user(0, "tick", 1, 1, "")
	if _, r = w.page(t, Facts{}); sum(r.Marks["count"])+r.Omitted["marks"] != n+1 || r.Omitted["marks"] == 0 {
		t.Errorf("%d marks, %d left out", len(r.Marks["time"]), r.Omitted["marks"])
	}
}

// Too many spans become fewer boxes. Long ones stay as they are, also those with spans inside.
func TestManySpans(t *testing.T) {
	w := newRun()
	const most = mostSpans / 20
	w.b.spans.most = most
	const n = 5 * most / 2
	for i := range int64(n) {
		tid := int(1 + i%2)
		if i%1000 == 0 {
			w.user(i, "long.begin", 1, tid, fmt.Sprint("number ", i))
		}
		w.user(i, "short.begin", 1, tid, fmt.Sprint(i))
		w.user(i+1, "short.end", 1, tid, "")
		if i%1000 == 998 {
			w.user(i+1, "long.end", 1, tid, "")
		}
	}
	html, r := w.page(t, Facts{})
	s := r.Spans
	if got := sum(s["count"]); got != n+n/1000 || len(s["start"]) > most || len(s["start"]) < most/8 {
		t.Errorf("%d spans of %d in %d boxes", got, n, len(s["start"]))
	}
	long := 0
	for i, name := range s["name"] {
		if r.Strings[name] == "long" && s["count"][i] == 1 && strings.HasPrefix(r.Strings[s["text"][i]], "number ") {
			long++
		}
	}
	if long != n/1000 {
		t.Errorf("%d long spans of %d", long, n/1000)
	}
	if !strings.Contains(html, "are drawn together with neighbours") {
		t.Error("the page does not say that boxes are several spans")
	}
}

// Processes that have nothing in common with others are left out, the shortest first, and counted.
func TestManyProcesses(t *testing.T) {
	w := newRun()
	const n = 10_000
	w.b.spans.most = n/2 - 5
	for i := range n {
		w.b.spans.list = append(w.b.spans.list, span{id: uint64(i + 1), parent: uint64(i), start: t0 + int64(i)*ms, end: t0 + int64(i)*ms + int64(i), pid: int32(i), count: 1})
	}
	w.user(0, "tick", 1, 1, "")
	w.user(n, "tick", 1, 1, "")
	_, r := w.page(t, Facts{})
	if got := sum(r.Spans["count"]) + r.Omitted["spans"]; got != n || r.Omitted["spans"] == 0 {
		t.Errorf("%d processes of %d, %d left out", got, n, r.Omitted["spans"])
	}
}

// Of much output the first and the last lines are left, and the page is not larger than it may be.
func TestManyLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		lines      int
	}{{"ordinary", "[ 1234/50000] CC pkg/module7/file_1234.c -O2 -Wall", 50_000}, {"short", "", 300_000}, {"colours", strings.Repeat("\x1b[31mx\x1b[0m", 20), 10_000}, {"long", strings.Repeat("x", 1<<20), 40}} {
		w := newRun()
		w.b.lines.room = lineRoom / 10
		data := (&posixtrace.OutputData{Line: []byte(c.line)}).Append(nil)
		rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventOutputStdout, PID: 1, UnixNano: t0}, Data: data}
		for i := range c.lines {
			rec.UnixNano = t0 + int64(i)*10_000
			w.Add([]posixtrace.Record{rec})
		}
		w.print(1<<20, "the last one")
		html, r := w.page(t, Facts{})
		if len(html) > 12_000_000/10+600_000 {
			t.Errorf("%s: a page of %d bytes", c.name, len(html))
		}
		if got := len(r.Text) + int(r.Omitted["lines"]); got != c.lines+1 || r.Text[len(r.Text)-1] != "the last one" {
			t.Errorf("%s: %d lines of %d", c.name, got, c.lines+1)
		}
		if omitted := r.Omitted["lines"] > 0; omitted != (r.Gap > 0 && r.Gap < len(r.Text)) || omitted != strings.Contains(html, " of output in the middle are left out") {
			t.Errorf("%s: %d lines are left out, and the gap is at %d of %d", c.name, r.Omitted["lines"], r.Gap, len(r.Text))
		}
		t.Logf("%s: %d bytes, %d lines, %d left out", c.name, len(html), len(r.Text), r.Omitted["lines"])
	}
}

// The lines leave room for the rest of the page.
func TestRoom(t *testing.T) {
	w := newRun()
	w.b.lines.room = 400_000
	for i := range int64(3000) {
		w.print(i, strings.Repeat("x", 100))
	}
	r := w.Finish(Facts{})
	if b := r.appendJSON(nil, 200_000); len(b) > 200_000 || len(b) < 150_000 {
		t.Errorf("%d bytes, %d lines left out", len(b), r.omitted.lines)
	}
}

// A line in parts is one line, also with lines of the other stream between.
func TestParts(t *testing.T) {
	w := newRun()
	part := func(id posixtrace.EventID, text string, continues bool) {
		w.event(1, id, 1, 1, (&posixtrace.OutputData{Line: []byte(text), Continues: continues}).Append(nil))
	}
	part(posixtrace.EventOutputStdout, "one ", true)
	part(posixtrace.EventOutputStdout, "line", false)
	part(posixtrace.EventOutputStdout, "two", false)
	part(posixtrace.EventOutputStdout, "a", true)
	part(posixtrace.EventOutputStderr, "between", false)
	part(posixtrace.EventOutputStdout, "b", false)
	w.event(1, posixtrace.EventOutputStdout, 1, 1, (&posixtrace.OutputData{Line: []byte("50 %"), Return: true}).Append(nil))
	_, r := w.page(t, Facts{})
	if got := strings.Join(r.Text, "|"); got != "one line|two|a|between|b|50 %" {
		t.Errorf("lines %q", got)
	}
	if got := fmt.Sprint(r.Lines["stream"]); got != "[1 1 1 2 1 5]" {
		t.Errorf("streams %s", got)
	}
}
