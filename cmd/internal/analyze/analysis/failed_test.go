package analysis

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// failLog is a source whose events a test adds.
type failLog struct {
	*Source
	at int64
}

func newFailLog(a *Analysis) *failLog {
	names := []string{"step.begin", "step.end", "make.begin", "make.end"}
	return &failLog{Source: a.NewSource(func(id posixtrace.EventID) string {
		if id >= 100 && int(id) < 100+len(names) {
			return names[id-100]
		}
		return ""
	})}
}

func (l *failLog) add(id posixtrace.EventID, pid int, data string) {
	l.at += 1e6
	l.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: l.at}, Data: []byte(data)}})
}

func (l *failLog) exec(pid int) {
	l.add(posixtrace.EventProcExec, pid, string((&posixtrace.ExecData{Path: "/bin/sh", Argv: []string{"sh"}}).Append(nil)))
}

func (l *failLog) exit(pid, status int) {
	l.add(posixtrace.EventProcExit, pid, string((&posixtrace.ExitData{Status: status}).Append(nil)))
}

func (l *failLog) print(id posixtrace.EventID, text string) {
	l.add(id, 1, string((&posixtrace.OutputData{Line: []byte(text)}).Append(nil)))
}

// The cause of a failure is the innermost step that failed last, also if it is that of a script that
// another step ran. A step that fails later is another failure.
func TestFailedSpan(t *testing.T) {
	for _, test := range []struct{ events, want, rows string }{
		{"1<a 1>0 1<b 1>3 1<c 1>0", "b 3", "b"},
		{"1<a 1>1 1<b 1>2", "b 2", "b a"},
		{"1<outer 1<inner 1>4 1>1", "inner 4", "inner"},
		{"1<outer 1<inner 1>0 1>1", "outer 1", "outer"},
		{"1<outer 2<inner 2>4 1>1", "inner 4", "inner"},
		{"2<before 2>4 1<outer 1>1", "outer 1", "outer before"},
		{"1<a 1>1 1<b 1>1 1<c 1>1 1<d 1>1 1<a 1>1", "a 1", "a d c"},
		{"1<a 1>2 1<exit 1>2", "a 2", "a"},
		{"1<a 1>2 1<b 1>0 1<exit 1>2", "exit 2", "exit a"},
		{"1<exit 1>2", "exit 2", "exit"},
		{"1<a 1>0", "", ""},
	} {
		a := New(Limits{Rows: 3})
		l := newFailLog(a)
		l.exec(1)
		for _, event := range strings.Fields(test.events) {
			pid := int(event[0] - '0')
			if event[1] == '<' {
				l.add(100, pid, "x.sh:1 "+event[2:])
			} else {
				l.add(101, pid, event[2:])
			}
		}
		l.exit(1, 1)
		a.Finish()
		got, rows := "", []string{}
		if f := a.FailedSpan(); f != nil {
			got = fmt.Sprintf("%s %d", strings.TrimPrefix(f.Row.Step, "x.sh:1 "), f.Status)
		}
		for _, r := range a.FailedSpans() {
			rows = append(rows, strings.TrimPrefix(r.Step, "x.sh:1 "))
		}
		if got != test.want || strings.Join(rows, " ") != test.rows {
			t.Errorf("%s: %q, rows %q, want %q, %q", test.events, got, rows, test.want, test.rows)
		}
	}
}

// A log whose command succeeded has no failed step to show; its failures are answers.
func TestFailedSpanOfFailedLog(t *testing.T) {
	a := New(Limits{Rows: 3})
	for _, status := range []int{1, 0} {
		l := newFailLog(a)
		l.exec(1)
		l.add(100, 1, fmt.Sprintf("x.sh:%d test", status))
		l.add(101, 1, "1")
		l.add(100, 1, "x.sh:9 slow")
		l.at += 1e9
		l.add(101, 1, "0")
		l.exit(1, status)
	}
	a.Finish()
	if f := a.FailedSpan(); f == nil || f.Source != 0 || f.Row.Step != "x.sh:1 test" {
		t.Errorf("%+v", f)
	}
}

// The output of a failure is what was printed while it ran, and shortly after: standard error first.
func TestFailureOutput(t *testing.T) {
	const o, e = posixtrace.EventOutputStdout, posixtrace.EventOutputStderr
	long := strings.Repeat("x", 2*maxLine)
	for _, test := range []struct{ before, during, soon, late, want string }{
		{"e1", "e2 o3", "e4", "e5", "e2 e4"},
		{"e1", "e2 e3 e4 e5", "e6", "", "e3 e4 e5"},
		{"e1", "o2", "o3", "o4", "o2 o3"},
		{"e1 e2 o3", "", "", "e4", "e1 e2"},
		{"o1", "", "", "", ""},
		{"", "", "e1 e2 e3 e4", "", "e1 e2 e3"},
		{"", "e" + long, "e", "", "e" + long[:maxLine-1]},
	} {
		a := New(Limits{Rows: 3})
		l := newFailLog(a)
		print := func(lines string) {
			for _, text := range strings.Fields(lines) {
				id := o
				if text[0] == 'e' {
					id = e
				}
				if text == "e" {
					text = " "
				}
				l.print(id, text)
			}
		}
		l.exec(1)
		print(test.before)
		l.add(posixtrace.EventProcFork, 1, string((&posixtrace.ForkData{Child: 2}).Append(nil)))
		l.exec(2)
		l.add(100, 2, "x.sh:1 a")
		print(test.during)
		l.add(101, 2, "2")
		l.exit(2, 2)
		print(test.soon)
		l.at += printedLate
		print(test.late)
		l.exit(1, 2)
		a.Finish()
		_, failed := a.Commands()
		for what, lines := range map[string][][]byte{"span": a.FailedSpan().Output, "command": a.FailureOutput(failed[0])} {
			var got []string
			for _, text := range lines {
				got = append(got, string(text))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%+v: %s: %q", test, what, got)
			}
		}
	}
}

// What the first command of a log has printed is its output, whether ptrace-run read it before or
// after the exit.
func TestFailureOutputOfRun(t *testing.T) {
	const lines = 5
	for before := range lines + 1 {
		a := New(Limits{Rows: 3})
		l := newFailLog(a)
		l.exec(1)
		for i := range lines {
			if i == before {
				l.exit(1, 3)
			}
			l.print(posixtrace.EventOutputStderr, strconv.Itoa(i))
		}
		if before == lines {
			l.exit(1, 3)
		}
		a.Finish()
		_, failed := a.Commands()
		if got := bytes.Join(a.FailureOutput(failed[0]), []byte(" ")); string(got) != "2 3 4" {
			t.Errorf("%d lines before the exit: %q", before, got)
		}
	}
}

// The context of an output begins with the first line that says what went wrong, unless its last lines do.
func TestFailureContext(t *testing.T) {
	for _, test := range []struct{ printed, output, context string }{
		{"a|b|c", "a|b|c", "a|b|c"},
		{"x|a|b|c", "a|b|c", "a|b|c"},
		{"x|an error|1|2|3|4", "2|3|4", "2|3|4"},
		{"x|Error: y|1|2|3|4", "2|3|4", "Error: y|1|2|3|4"},
		{"x|Error: y|1|2|3|panic: z", "2|3|panic: z", "2|3|panic: z"},
		{"Error: y|1|2|3|4|5|6|7|8|9|10|11", "9|10|11", "Error: y|1|2|3|4|5|6|7|8|9|10|11"},
		{"Error: y|1|2|3|4|5|6|7|8|9|10|11|12", "10|11|12", "10|11|12"},
	} {
		a := New(Limits{Rows: 3})
		l := newFailLog(a)
		l.exec(1)
		for _, text := range strings.Split(test.printed, "|") {
			l.print(posixtrace.EventOutputStderr, text)
		}
		l.exit(1, 3)
		a.Finish()
		_, failed := a.Commands()
		output, context := string(bytes.Join(a.FailureOutput(failed[0]), []byte("|"))), string(bytes.Join(a.FailureContext(failed[0]), []byte("|")))
		if output != test.output || context != test.context {
			t.Errorf("%q: %q, %q", test.printed, output, context)
		}
	}
}

// Durations are a part of the time of the command of their log, where it is known.
func TestBase(t *testing.T) {
	a := New(Limits{Rows: 3})
	run, open := newFailLog(a), newFailLog(a)
	run.add(1, 9, "")
	run.exec(1) // at 2 ms
	run.exit(1, 0)
	run.at += 50e6
	run.add(2, 9, "")
	open.at = 1e15
	open.add(100, 1, "a")
	open.at += 9e6
	open.add(101, 1, "0")
	a.Finish()
	if a.Base(0) != 1e6 || a.Base(1) != 10e6 || a.Base(-1) != 11e6 {
		t.Error(a.Base(0), a.Base(1), a.Base(-1))
	}
}
