package summary

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// pageOf returns a page of a run with these commands beside the first, each with its status.
func pageOf(commands map[string]int, lost uint64, notes ...string) *Page {
	a := New(&Options{})
	s := a.NewSource(func(posixtrace.EventID) string { return "" })
	at := int64(0)
	add := func(id posixtrace.EventID, pid int, data []byte) {
		at += 1e6
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: data}})
	}
	add(posixtrace.EventProcExec, 1, (&posixtrace.ExecData{Path: "/bin/make", Argv: []string{"make", "all"}}).Append(nil))
	pid := 1
	for command, status := range commands {
		pid++
		add(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: pid}).Append(nil))
		argv := strings.Fields(command)
		add(posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/bin/" + argv[0], Argv: argv}).Append(nil))
		add(posixtrace.EventProcExit, pid, (&posixtrace.ExitData{Status: status}).Append(nil))
	}
	add(posixtrace.EventProcExit, 1, (&posixtrace.ExitData{}).Append(nil))
	a.Finish()
	return &Page{Analysis: a, Lost: lost, Rows: 100, Name: "all.trace", State: "finished", Notes: notes,
		Command: func(*analysis.Command) (int, bool) { return 7, true }}
}

// The card of a verdict has the numbers that people look for. The log is below them, in small letters, and
// the notes are at the end of the page.
func TestCard(t *testing.T) {
	const note = "3 lines of output in the middle are left out"
	p := pageOf(map[string]int{"cc a.c": 0, "cc b.c": 0}, 0, note)
	card := string(p.AppendVerdict(nil))
	facts, origin, _ := strings.Cut(card, `<dl class="origin">`)
	for _, not := range []string{"all.trace", "<dt>events", "lost"} {
		if strings.Contains(facts, not) {
			t.Errorf("the facts have %q: %s", not, facts)
		}
	}
	if !strings.Contains(origin, "<dt>log</dt><dd>all.trace: finished</dd>") || !strings.Contains(origin, "<dt>events</dt><dd>8</dd>") {
		t.Errorf("no log: %s", origin)
	}
	if strings.Contains(card, note) || !strings.Contains(string(p.AppendNotes(nil)), ">"+note+"</p>") {
		t.Errorf("the notes are not at the end: %s", card)
	}
	if card := string(pageOf(nil, 5).AppendVerdict(nil)); !strings.Contains(card, "<dt>lost events</dt><dd>5</dd>") || strings.Contains(card, "commands") {
		t.Errorf("one command, 5 lost: %s", card)
	}
}

// A table has no column that tells nothing, and the whole width of the page if its text needs it.
func TestSqueeze(t *testing.T) {
	for _, test := range []struct {
		columns string
		rows    [][]string
		want    string
		wide    bool
	}{
		{" event,count,rate/s,bytes", [][]string{{"a", "1", "2.0", "6"}, {"b", "1", "2.0", "9"}}, " event,bytes", false},
		{" event,count,rate/s,bytes", [][]string{{"a", "1", "2.0", "6"}, {"b", "3", "6.0", "9"}}, " event,count,rate/s,bytes", false},
		{" event,count,rate/s,bytes", [][]string{{"a", "5", "10", "6"}, {"b", "5", "10", "9"}}, " event,count,rate/s,bytes", false},
		{" event,count,rate/s,bytes", [][]string{{"a", "1", "2.0", "6"}}, " event,count,rate/s,bytes", false},
		{" span,count,p50,p95,max,total,self", [][]string{{"a", "1", "5ms", "5ms", "5ms", "5ms", "5ms"}, {"b", "1", "6ms", "6ms", "6ms", "6ms", "6ms"}}, " span,total", false},
		{" span,count,p50,p95,max,total,self", [][]string{{"a", "1", "5ms", "5ms", "5ms", "5ms", "5ms"}, {"b", "2", "6ms", "6ms", "7ms", "13ms", "9ms"}}, " span,count,p50,p95,max,total,self", false},
		{" command,wall,self,status", [][]string{{"a", "5ms", "5ms", "0"}, {strings.Repeat("gcc ", 20), "6ms", "4ms", "0"}}, " command,wall,self", true},
		{"pause, after the line, meanwhile", [][]string{{"5ms", strings.Repeat("x", 30), strings.Repeat("y", 30)}, {"4ms", "", ""}}, "pause, after the line, meanwhile", true},
	} {
		tb := &table{columns: strings.Split(test.columns, ",")}
		for _, r := range test.rows {
			tb.add(false, r...)
		}
		tb.squeeze()
		if got := strings.Join(tb.columns, ","); got != test.want || tb.wide() != test.wide {
			t.Errorf("%q of %s, wide %v", got, test.columns, tb.wide())
		}
		for _, r := range tb.rows {
			if len(r.cells) != len(tb.columns) {
				t.Errorf("%d cells in %d columns", len(r.cells), len(tb.columns))
			}
		}
	}
	long := "/bin/gcc " + strings.Repeat("-DOPTION_OF_A_LONG_LINE ", 3)
	commands := map[string]int{}
	for _, name := range []string{"a.c", "b.c", "c.c"} {
		commands[long+name] = 0
	}
	html := string(pageOf(commands, 0).AppendTables(nil))
	if strings.Contains(html, ">status</th>") || !strings.Contains(html, ">wall</th>") {
		t.Errorf("columns: %s", html)
	}
}
