package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A span's own time is that without the spans inside, which may run side by side.
func TestSelf(t *testing.T) {
	w := newLog(1, BySelf)
	w.user(0, "outer.begin", 1, "")
	w.user(10, "inner.begin", 1, "")
	w.user(40, "inner.end", 1, "0")
	w.user(50, "inner.begin", 1, "")
	w.user(60, "inner.end", 1, "2")
	w.user(100, "outer.end", 1, "")
	w.keyed(200, "request.begin", 2, 70, 0)
	w.keyed(210, "query.begin", 2, 71, 70)
	w.keyed(220, "query.begin", 2, 72, 70)
	w.keyed(240, "query.end", 2, 71, 0)
	w.keyed(250, "query.end", 2, 72, 0)
	w.keyed(260, "query.begin", 2, 73, 70) // longer than the span around it
	w.keyed(300, "request.end", 2, 70, 0)
	w.keyed(310, "query.end", 2, 73, 0)
	for name, want := range map[string][4]int64{"outer": {1, 100, 60, 0}, "inner": {2, 40, 40, 1}, "request": {1, 100, 20, 0}, "query": {3, 110, 110, 0}} {
		r := span(t, w.a, name)
		if got := [4]int64{int64(r.Times.Count), r.Times.Total / ms, r.Self / ms, int64(r.Failed)}; got != want {
			t.Errorf("%s: count, total, self, failed = %v, want %v", name, got, want)
		}
	}
	if w.a.spans.open != 0 || w.a.spans.keyed.count != 0 {
		t.Error("spans are open")
	}
}

// Spans that cross, never end or have no begin are counted as such, and not measured.
func TestDoubtfulSpans(t *testing.T) {
	w := newLog(1, BySelf)
	at := int64(0)
	for _, name := range []string{"left.begin", "twice.begin", "twice.begin", "twice.end", "twice.end", "twice.begin", "twice.end",
		"outer.begin", "inner.begin", "inner.end", "outer.end", "a.begin", "b.begin", "a.end", "b.end", "stray.end"} {
		at++
		w.user(at, name, 1, "")
	}
	w.user(at, "a.end", 2, "") // of another thread
	w.keyed(at, "k.begin", 1, 5, 99)
	w.keyed(at, "k.end", 1, 6, 0)
	for name, want := range map[string][4]uint64{ // count, open, unmatched, overlapping
		"left": {0, 1, 0, 0}, "twice": {1, 0, 0, 2}, "outer": {1, 0, 0, 0}, "inner": {1, 0, 0, 0}, "a": {0, 0, 1, 1}, "b": {0, 0, 0, 1},
		"stray": {0, 0, 1, 0}, "k": {0, 1, 1, 0},
	} {
		r := span(t, w.a, name)
		if got := [4]uint64{r.Times.Count, r.Open, r.Unmatched, r.Overlapping}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	w := newLog(1, BySelf)
	for i := range int64(3) {
		w.user(10*i, "step.begin", 1, "deploy.sh:37 sleep 0.2")
		w.user(10*i+4, "step.end", 1, "0")
		w.user(10*i+5, "step.begin", 1, fmt.Sprintf("dir with space/x:%d false", i))
		w.user(10*i+6, "step.end", 1, "1")
	}
	w.user(50, "step.begin", 1, "no place")
	w.user(60, "step.end", 1, "")
	if r := span(t, w.a, "deploy.sh:37 sleep 0.2"); r.Times.Count != 3 || r.Times.Total != 12*ms || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	if r := span(t, w.a, "dir with space/x:1 false"); r.Times.Count != 1 || r.Failed != 1 {
		t.Errorf("%+v", r)
	}
	if r := span(t, w.a, "step"); r.Times.Count != 1 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	// Their number is bounded: all others share a row.
	for i := range int64(2 * maxSteps) {
		w.user(100+i, "step.begin", 1, fmt.Sprintf("x.sh:%d :", i))
		w.user(100+i, "step.end", 1, "0")
	}
	if n := len(w.a.Spans()); n > maxSteps+1 {
		t.Errorf("%d rows", n)
	}
	if r := span(t, w.a, "step"); r.Times.Count < maxSteps {
		t.Errorf("%d in the row of all others", r.Times.Count)
	}
}

// The lines of make's recipes have rows of their own. A line that runs make has the time of the
// lines of that make inside, which belong to other processes.
func TestRecipes(t *testing.T) {
	w := newLog(1, BySelf)
	line := func(at int64, name string, pid int, key, parent uint64, data string) {
		w.add(posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: w.id(name), PID: pid, UnixNano: at * ms, Span: key, Parent: parent}, Data: []byte(data)})
	}
	k := catalog.RecipeKey
	line(0, "make.begin", 10, k(1), 0, "sub: make -C sub")
	line(10, "make.begin", 11, k(2), k(1), "x.o: cc -c x.c")
	line(20, "make.begin", 12, k(3), k(1), "y.o: cc -c y.c")
	line(60, "make.end", 12, k(3), 0, "1")
	line(80, "make.end", 11, k(2), 0, "0")
	line(100, "make.end", 10, k(1), 0, "2")
	line(110, "make.begin", 10, 4, 0, "a span of a script") // and another one's in another process
	line(111, "make.begin", 13, 5, 4, "x: y")
	line(112, "make.end", 13, 5, 0, "0")
	line(113, "make.end", 10, 4, 0, "0")
	for step, want := range map[string][4]int64{"sub: make -C sub": {1, 100, 30, 1}, "x.o: cc -c x.c": {1, 70, 70, 0}, "y.o: cc -c y.c": {1, 40, 40, 1}, "make": {2, 4, 4, 0}} {
		r := span(t, w.a, step)
		if got := [4]int64{int64(r.Times.Count), r.Times.Total / ms, r.Self / ms, int64(r.Failed)}; got != want {
			t.Errorf("%s: count, total, self, failed = %v, want %v", step, got, want)
		}
	}
}

// Only a span that a shell or ptrace-event has ended has a status. The text of an error comes from any program.
func TestOutcome(t *testing.T) {
	const program, spool = 0x4000, posixtrace.SpoolAddress
	long := strings.Repeat("é", MaxSpanData)
	for _, c := range []struct {
		address, key uint64
		data         string
		want         string
	}{
		{0, 0, "", ""}, {0, 0, "0", ""}, {0, 0, "1", "1"}, {0, 0, "255", "255"}, {0, 0, "256", ""}, {0, 0, "x1", ""}, {0, 0, "1 ", ""},
		{spool, 0, "2", "2"}, {spool | 77, 0, "127", "127"}, {spool, 5, "000", ""}, {spool, 5, "3", "3"},
		{program, 0, "1", ""}, {program, 5, "200", ""}, {program, 5, "42 rows", ""}, {program, 5, "no rows", ""},
		{program, 5, "error: no rows", "error no rows"}, {program, 0, "error:no rows", "error no rows"}, {0, 0, "error: 3", "error 3"},
		{program, 0, "error", "error error"}, {program, 5, "error: ", "error error"}, {program, 0, "errors: 0", ""}, {program, 0, "Error: x", ""},
		{program, 0, "error message", ""}, {program, 0, " error: x", ""},
		{spool, 5, "no such page", "error no such page"}, {spool, 0, "done", ""}, {0, 5, "done", ""}, {spool, 5, "42 rows", ""}, {spool, 5, " ", ""},
		{program, 0, "error: " + long, "error " + long[:MaxSpanData]}, {program, 0, "error: x" + long, "error x" + long[:MaxSpanData-2]},
	} {
		rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{Address: c.address, Span: c.key}, Data: []byte(c.data)}
		end := OutcomeOf(rec)
		got := ""
		switch {
		case end.Error != nil:
			got = "error " + string(end.Error)
		case end.Status != 0:
			got = strconv.Itoa(end.Status)
		}
		if got != c.want || end.Failed != (got != "") {
			t.Errorf("%#x, key %d, %.40q: %.40q, %+v, want %.40q", c.address, c.key, c.data, got, end.Failed, c.want)
		}
	}
}

// A log with more open spans than fit is measured as far as possible.
func TestManyOpen(t *testing.T) {
	w := newLog(1, BySelf)
	begin, end := w.id("x.begin"), w.id("x.end")
	add := func(id posixtrace.EventID, key uint64) {
		w.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: 1, Span: key, UnixNano: int64(key)}}})
	}
	const n = maxOpen + 1000
	for i := range uint64(n) {
		add(begin, i+1)
	}
	for i := range uint64(n) {
		add(end, i+1)
	}
	r := span(t, w.a, "x")
	if r.Times.Count != maxOpen || r.Unmatched != 1000 || w.a.IgnoredSpans() != 1000 || r.Open != 0 {
		t.Errorf("%d measured, %d unmatched, %d ignored, %d open", r.Times.Count, r.Unmatched, w.a.IgnoredSpans(), r.Open)
	}
}

// Spans that run at the same time have more time together than the run: how long at least one ran, and
// how many at a time, is known.
func TestParallelSpans(t *testing.T) {
	w := newLog(1, BySelf)
	for i := range uint64(10) {
		w.keyed(int64(i), "work.begin", 1, 100+i, 0)
		w.keyed(int64(10*i), "turn.begin", 1, 200+i, 0)
		w.keyed(int64(10*i+10), "turn.end", 1, 200+i, 0)
	}
	for i := range uint64(10) {
		w.keyed(100+int64(i), "work.end", 1, 100+i, 0)
	}
	w.keyed(110, "nest.begin", 1, 300, 0)
	w.keyed(110, "nest.begin", 1, 301, 300)
	w.keyed(120, "nest.end", 1, 301, 0)
	w.keyed(120, "nest.end", 1, 300, 0)
	w.keyed(110, "left.begin", 1, 400, 0)
	w.keyed(110, "left.begin", 1, 401, 0)
	w.keyed(120, "left.end", 1, 401, 0)
	for name, want := range map[string]struct {
		parallel bool
		covered  int64
		most     uint64
	}{"work": {true, 109, 10}, "turn": {false, 100, 1}, "nest": {false, 10, 2}, "left": {false, 0, 2}} {
		r := span(t, w.a, name)
		if r.Parallel() != want.parallel || r.Covered/ms != want.covered || r.Most != want.most {
			t.Errorf("%s: parallel %v, covered %d, most %d; want %v", name, r.Parallel(), r.Covered/ms, r.Most, want)
		}
	}
}
