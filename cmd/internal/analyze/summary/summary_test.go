package summary

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	drawn "github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0s", 1: "1ns", 999: "999ns", 1000: "1.00µs", 12_345: "12.3µs", 123_456: "123µs", 999_499: "999µs", 999_500: "1.00ms",
		1_162_345_678: "1.16s", 999_499_999: "999ms", 999_500_000: "1.00s", 59_449_999_999: "59.4s", 59_500_000_000: "1m00s", 59_499_999_999: "59.5s",
		61_400_000_000: "1m01s", 3_600_000_000_000: "1h00m", 3_599_400_000_000: "59m59s", 359_000 * 1e9: "99h43m", 360_000 * 1e9: "4d04h",
	} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) = %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "-", 1: "1", 999: "999", 1023: "1.00K", 141303808: "135M", 1 << 40: "1.00T", 1<<63 - 1: "8.00E"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
}

// hostileSummary returns the summary of a log with harmful text in all its names and data.
func hostileSummary(o *Options) []byte {
	a := New(o)
	addHostileNames(a, false)
	a.Finish()
	return Append(nil, a, 3, o)
}

// hostileUse returns the same, with samples and system calls.
func hostileUse(o *Options) []byte {
	a := New(o)
	addHostile(a)
	a.Finish()
	return Append(nil, a, 3, o)
}

func addHostile(a *analysis.Analysis) { addHostileNames(a, true) }

// addHostileNames adds the events of that log, with or without those of use.
func addHostileNames(a *analysis.Analysis, use bool) {
	texts := append(hostile.Texts(), "::set-output name=x::y", "  ::stop-commands::x", "##[command]x", "a|b\\|c`", "</code><script>alert(1)</script>", "@all http://x.y www.x.y", "![](x) [a](b) *b* _c_ $x$")
	s := a.NewSource(func(id posixtrace.EventID) string {
		switch {
		case id == openCall:
			return "syscall.openat"
		case !id.User() || int(id) < 100:
			return ""
		}
		name := texts[(int(id)-100)%len(texts)]
		switch (int(id) - 100) / len(texts) {
		case 0:
			return name + ".begin"
		case 1:
			return name + ".end"
		}
		return name
	})
	at := int64(0)
	add := func(id posixtrace.EventID, pid int, data []byte) {
		at += 1e6
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: data}})
	}
	add(posixtrace.EventProcExec, 1, (&posixtrace.ExecData{Path: "/x/" + texts[0], Argv: texts}).Append(nil))
	for i, text := range texts {
		id := posixtrace.EventID(100 + i)
		add(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: 1000 + i}).Append(nil))
		add(posixtrace.EventProcExec, 1000+i, (&posixtrace.ExecData{Path: "/x/" + text, Argv: []string{text, text, text + text}}).Append(nil))
		add(id, 1, []byte(text))
		add(posixtrace.EventOutputStdout, 1, (&posixtrace.OutputData{Line: []byte(text)}).Append(nil))
		add(id+posixtrace.EventID(len(texts)), 1, []byte("1"))
		add(id+posixtrace.EventID(2*len(texts)), 1, []byte(text))
		if use {
			addHostileUse(i, text, add)
		}
		add(posixtrace.EventProcExit, 1000+i, (&posixtrace.ExitData{Status: i % 3, Signal: i % 2}).Append(nil))
	}
	add(posixtrace.EventProcExit, 1, (&posixtrace.ExitData{Status: 1}).Append(nil))
}

// addHostileUse adds samples whose program has this name, and a system call that failed with this argument.
func addHostileUse(i int, text string, add func(id posixtrace.EventID, pid int, data []byte)) {
	d := posixtrace.ResSampleData{Number: 2*i + 1, Full: true, RSS: int64(i+1) << 30, Group: true, Changes: []posixtrace.ResProcess{{PID: 1, Program: text, RSS: int64(i+1) << 30}}}
	add(posixtrace.EventResSample, 1, d.Append(nil))
	d = posixtrace.ResSampleData{Number: 2*i + 2, Group: true, RSS: d.RSS, Memory: d.RSS, OOMKills: int64(i + 1), OOMProcess: i + 1, LimitProcess: 1, DirectoryFull: true, TemporaryFull: true,
		Throttled: time.Duration(i) * 10 * time.Millisecond, MemoryStall: time.Duration(i) * 10 * time.Millisecond, IOStall: time.Duration(i) * 10 * time.Millisecond}
	add(posixtrace.EventResSample, 1, d.Append(nil))
	failed := posixtrace.SyscallData{Result: -1, Errno: 24, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte(text), String: true}, {Value: []byte(text)}}}
	add(openCall, []int{1, 1000 + i}[i%2], failed.Append(nil))
}

// openCall is the type of a system call.
const openCall = posixtrace.EventID(3600)

// Untrusted text becomes neither a control sequence, nor a workflow command, nor markdown or HTML.
func TestHostileText(t *testing.T) {
	for name, summary := range map[string]func(*Options) []byte{"names": hostileSummary, "use": hostileUse} {
		t.Run(name, func(t *testing.T) { testHostileText(t, summary) })
	}
}

func testHostileText(t *testing.T, summary func(*Options) []byte) {
	for _, width := range []int{0, 40, 200} {
		out := string(summary(&Options{Top: All, Width: width}))
		for line := range strings.Lines(out) {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "::") || strings.Contains(line, "##[") {
				t.Errorf("width %d: a workflow command: %q", width, line)
			}
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e || r == 0x9b }); i >= 0 {
				t.Errorf("width %d: a control character in %q", width, line)
			}
		}
	}
	out := string(summary(&Options{Top: All, Form: Markdown}))
	code := regexp.MustCompile(`<code>((?:[A-Za-z0-9 ]|&#[0-9]+;|[^\x00-\x7f])*)</code>`)
	plain := regexp.MustCompile(`^[A-Za-z0-9 .,:/%()|µ❌#?\n-]*$`)
	for line := range strings.Lines(out) {
		if rest := code.ReplaceAllString(line, ""); !plain.MatchString(rest) {
			t.Errorf("not plain: %q", rest)
		}
		if cells := strings.Count(line, "|"); cells > 0 && !strings.HasPrefix(line, "|") {
			t.Errorf("a cell more: %q", line)
		}
	}
}

// Failed commands are red, and only those.
func TestRed(t *testing.T) {
	out := string(hostileSummary(&Options{Top: 5, Red: "\x1b[31m"}))
	if !strings.HasPrefix(out, "\x1b[31m") || strings.Count(out, "\x1b[31m") != strings.Count(out, "\x1b[0m") || strings.Contains(strings.ReplaceAll(strings.ReplaceAll(out, "\x1b[31m", ""), "\x1b[0m", ""), "\x1b") {
		t.Errorf("%q", out)
	}
	if !strings.Contains(out, "3 lost\x1b[0m\n") {
		t.Errorf("the loss is not red: %q", out)
	}
}

// The lines of JSON are as the schema says.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../ptrace-dump/summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range bytes.Lines(hostileUse(&Options{Top: Screen, Form: JSON})) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kinds[v.(map[string]any)["kind"].(string)]++
	}
	for _, kind := range []string{"run", "samples", "peak", "exhausted", "command", "program", "span", "pause", "syscall", "event", "total"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
}

// GitHub discards a step summary of more than a MiB. What is left out is counted.
func TestMarkdownSize(t *testing.T) {
	o := &Options{Top: All, Form: Markdown}
	a := New(o)
	const n = 3000
	s := a.NewSource(func(id posixtrace.EventID) string {
		return fmt.Sprintf("%d%s", id, strings.Repeat("<", 190))
	})
	for id := range posixtrace.EventID(n) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: 100 + id}}})
	}
	a.Finish()
	out := Append(nil, a, 0, o)
	rows := bytes.Count(out, []byte("\n| <code>"))
	if len(out) > 1<<20 || rows < 50 || !bytes.Contains(out, fmt.Appendf(nil, "\n%d more rows are left out.\n", n-rows)) {
		t.Errorf("%d bytes, %d rows", len(out), rows)
	}
}

// On a terminal, the first line stays in view: all lines fit, and one is left for the prompt. Tables without
// room are named, and with it each has three rows or more.
func TestHeight(t *testing.T) {
	for _, height := range []int{24, 25, 26, 29, 35, 41, 60} {
		out := string(hostileSummary(&Options{Top: Screen, Width: 80, Height: height}))
		if n := strings.Count(out, "\n"); n > height-1 || n < height-8 {
			t.Errorf("%d lines on %d:\n%s", n, height, out)
		}
		_, left, _ := strings.Cut(out, "; no room for ")
		for _, name := range []string{"command", "program", "span", "pause", "event"} {
			header := regexp.MustCompile("\n\n *" + name + " .*\n").FindStringIndex(out)
			table, shown := "", header != nil
			if shown {
				table = out[header[1]:]
			}
			if shown == strings.Contains(left, name) {
				t.Errorf("%d lines: %s, which is shown: %v; left out: %s", height, name, shown, left)
			}
			table, _, _ = strings.Cut(table, "\n\n")
			if n := strings.Count(table, "\n"); shown && n < leastRows {
				t.Errorf("%d lines: %s has %d rows:\n%s", height, name, n, out)
			}
		}
		if shown := strings.Contains(out, "\n\ncommand "); !shown {
			t.Errorf("%d lines: no commands:\n%s", height, out)
		}
	}
	// The status of a tolerated failure is long.
	for _, width := range []int{40, 50, 60, 80} {
		for line := range strings.Lines(string(hostileSummary(&Options{Top: Screen, Width: width, Height: 24}))) {
			if n := drawn.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %d are used: %q", width, n, line)
			}
		}
	}
	// What is asked for is shown, however many lines that takes.
	if out := string(hostileSummary(&Options{Top: 20, Width: 80, Height: 24})); strings.Contains(out, "no room") || strings.Count(out, "\n") < 60 {
		t.Errorf("--top:\n%s", out)
	}
}

// On a narrow terminal, columns of numbers go before the names are cut.
func TestNarrow(t *testing.T) {
	a := New(&Options{})
	names := []string{"deploy.sh:37 sleep 0.2 and more.begin", "deploy.sh:37 sleep 0.2 and more.end"}
	s := a.NewSource(func(id posixtrace.EventID) string { return names[id-100] })
	for i := range int64(50) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventID(100 + i%2), UnixNano: i * 123456}}})
	}
	a.Finish()
	for width, columns := range map[int]string{0: "count p50 p95 max total self", 80: "count p50 p95 max total self", 70: "count p95 max total self", 60: "max total self"} {
		out := string(Append(nil, a, 0, &Options{Top: Screen, Width: width}))
		header := regexp.MustCompile(`(?m)^span .*$`).FindString(out)
		if got := strings.Join(strings.Fields(header)[1:], " "); got != columns || !strings.Contains(out, "\ndeploy.sh:37 sleep 0.2 and more ") {
			t.Errorf("width %d: %q in\n%s", width, got, out)
		}
		for line := range strings.Lines(out) {
			if width > 0 && utf8.RuneCountInString(line) > width+1 {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}

// With every table full of long hostile text, the markdown has less than a MiB, and each table counts
// the rows that it leaves out.
func TestMarkdownHuge(t *testing.T) {
	o := &Options{Top: All, Form: Markdown}
	a := New(o)
	const n = 6000
	long := strings.Repeat("<|&", 90)
	s := a.NewSource(func(id posixtrace.EventID) string {
		switch {
		case !id.User():
			return ""
		case id%4 == 0:
			return fmt.Sprintf("%d%.180s.begin", id/4, long)
		case id%4 == 1:
			return fmt.Sprintf("%d%.180s.end", id/4, long)
		}
		return fmt.Sprintf("%d%.180s", id, long)
	})
	at := int64(0)
	add := func(id posixtrace.EventID, pid int, data []byte) {
		at += 1e6
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: data}})
	}
	add(posixtrace.EventProcExec, 1, (&posixtrace.ExecData{Path: "/x/" + long, Argv: []string{long, long}}).Append(nil))
	for i := range n {
		add(posixtrace.EventProcFork, 1, (&posixtrace.ForkData{Child: 10 + i}).Append(nil))
		add(posixtrace.EventProcExec, 10+i, (&posixtrace.ExecData{Path: fmt.Sprint("/x/", i, long), Argv: []string{long, fmt.Sprint(i), long}}).Append(nil))
		add(posixtrace.EventID(100+i%800*4), 1, nil)
		add(posixtrace.EventOutputStdout, 1, (&posixtrace.OutputData{Line: fmt.Append(nil, i, long)}).Append(nil))
		add(posixtrace.EventID(101+i%800*4), 1, []byte("1"))
		add(posixtrace.EventID(102+i%800*4), 1, nil)
		add(posixtrace.EventProcExit, 10+i, (&posixtrace.ExitData{Status: 1}).Append(nil))
	}
	add(posixtrace.EventProcExit, 1, (&posixtrace.ExitData{Status: 1}).Append(nil))
	a.Finish()
	out := string(Append(nil, a, 1, o))
	if len(out) > 1<<20 || len(out) < 1<<19 {
		t.Errorf("%d bytes", len(out))
	}
	for title, all := range map[string]int{"Commands": n + 1, "Spans": 800, "Events": 800 + 4} {
		_, table, ok := strings.Cut(out, "\n#### "+title+"\n")
		table, _, _ = strings.Cut(table, "\n####")
		left := regexp.MustCompile(`(?m)^([0-9]+) more rows are left out\.$`).FindStringSubmatch(table)
		rows := strings.Count(table, "\n| ") - 2 // without the header
		if !ok || left == nil || fmt.Sprint(all-rows) != left[1] || rows < 50 {
			t.Errorf("%s: %d rows of %d, %q", title, rows, all, left)
		}
	}
}
