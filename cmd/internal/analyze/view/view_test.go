package view

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// recorded is a log that a test writes.
type recorded struct {
	*analysis.Source
	a       *analysis.Analysis
	builder *analysis.Builder
	out     *Output
	names   map[posixtrace.EventID]string
	ids     map[string]posixtrace.EventID
}

func record(limit int) *recorded {
	w := &recorded{builder: analysis.NewBuilder(limit), out: NewOutput(), names: map[posixtrace.EventID]string{}, ids: map[string]posixtrace.EventID{}}
	w.a = analysis.New(analysis.Limits{Each: func(iv *analysis.Interval) {
		w.builder.Add(iv)
		w.out.Keep(iv)
	}})
	w.Source = w.a.NewSource(func(id posixtrace.EventID) string { return w.names[id] })
	return w
}

// event adds an event at a time in milliseconds.
func (w *recorded) event(at int64, id posixtrace.EventID, pid int, data []byte) {
	rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at * int64(time.Millisecond)}, Data: data}
	w.out.Add(0, &rec)
	w.Add([]posixtrace.Record{rec})
}

func (w *recorded) user(at int64, name string, pid int, data string) {
	id, ok := w.ids[name]
	if !ok {
		id = posixtrace.EventUnnamed + 1 + posixtrace.EventID(len(w.ids))
		w.ids[name], w.names[id] = id, name
	}
	w.event(at, id, pid, []byte(data))
}

func (w *recorded) span(from, to int64, name, data, status string, inside func()) {
	w.user(from, name+".begin", 1, data)
	if inside != nil {
		inside()
	}
	w.user(to, name+".end", 1, status)
}

func (w *recorded) exec(at int64, pid int, argv ...string) {
	w.event(at, posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/bin/" + argv[0], Argv: argv}).Append(nil))
}

func (w *recorded) fork(at int64, pid, child int) {
	w.event(at, posixtrace.EventProcFork, pid, (&posixtrace.ForkData{Child: child}).Append(nil))
}

func (w *recorded) exit(at int64, pid, status int) {
	w.event(at, posixtrace.EventProcExit, pid, (&posixtrace.ExitData{Status: status}).Append(nil))
}

func (w *recorded) print(at int64, line string) {
	w.event(at, posixtrace.EventOutputStdout, 1, (&posixtrace.OutputData{Line: []byte(line)}).Append(nil))
}

func (w *recorded) run() *Run {
	w.a.Finish()
	return &Run{Tree: w.builder.Tree(w.a), Analysis: w.a, Names: []string{"a.trace"}}
}

// job is a script with a slow and a failed step.
func job() *Run {
	w := record(analysis.MaxNodes)
	w.exec(0, 1, "bash", "ci.sh")
	w.span(10, 500, "build", "", "0", func() {
		w.fork(20, 1, 2)
		w.exec(20, 2, "cc", "a.c")
		w.fork(21, 1, 3)
		w.exec(21, 3, "cc", "slow.c")
		w.exit(120, 2, 0)
		w.exit(480, 3, 0)
	})
	w.print(505, "before")
	w.span(510, 700, "step", "ci.sh:7 make check", "2", func() { w.print(600, "FAIL: \x1b[31mx < y\x1b[0m\x07") })
	w.print(705, "after")
	w.user(800, "left.begin", 1, "")
	w.exit(1000, 1, 2)
	return w.run()
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if want = strings.ReplaceAll(strings.TrimPrefix(want, "\n"), "\t", ""); got != want {
		t.Errorf("%s:\n%swant:\n%s", what, got, want)
	}
}

func TestTree(t *testing.T) {
	check(t, "tree", string(AppendTree(nil, job(), &Options{Top: summary.Screen})), `
	 start  duration  share    path  status    name
	    0s     1.00s  100 %   120ms  2       * bash ci.sh
	10.0ms     490ms   49 %  31.0ms          * ├─[build]
	20.0ms     100ms   10 %          0         │ ├─cc a.c
	21.0ms     459ms   46 %   459ms  0       * │ └─cc slow.c
	 510ms     190ms   19 %   190ms  2       * ├─[ci.sh:7 make check]
	 800ms     200ms   20 %   200ms  ?       * └─[left]

	3 commands, 3 [spans] in 1.00s; * slow path: what the run waited for
	`)
}

func TestTimeline(t *testing.T) {
	check(t, "timeline", string(AppendTimeline(nil, job(), &Options{Width: 60})), `
	                     |0             |0.5s
	bash ci.sh           ███████████████████████████████ 2 1.00s
	├─[build]            ███████████████▌                  490ms
	│ ├─cc a.c           ▗▄▄▖                              100ms
	│ └─cc slow.c        ▐█████████████▌                   459ms
	├─[ci.sh:7 make che…                ▐█████▌          2 190ms
	└─[left]                                     ▐██████ ? 200ms

	█ slow path: what the run waited for   ▄ other
	`)
	check(t, "ASCII", string(AppendTimeline(nil, job(), &Options{Width: 40, ASCII: true})), `
	             |0
	bash ci.sh   ################### 2 1.00s
	|-[build]    ##########            490ms
	| |-cc a.c   ==                    100ms
	| `+"`"+`-cc slo.. #########             459ms
	|-[ci.sh:7..          ####       2 190ms
	`+"`"+`-[left]                    #### ? 200ms

	# slow path: what the run waited for  ..
	`)
}

func TestFolded(t *testing.T) {
	check(t, "folded", string(AppendFolded(nil, job())), `
	bash ci.sh 120000
	bash ci.sh;build 30000
	bash ci.sh;build;cc a.c 100000
	bash ci.sh;build;cc slow.c 459000
	bash ci.sh;ci.sh:7 make check 190000
	bash ci.sh;left 200000
	`)
}

func TestJUnit(t *testing.T) {
	r := job()
	check(t, "junit", string(AppendJUnit(nil, r, nil)), `
	<?xml version="1.0" encoding="UTF-8"?>
	<testsuites tests="3" failures="1" errors="1" skipped="0" time="1.000000">
	  <testsuite name="bash ci.sh" tests="3" failures="1" errors="1" skipped="0" time="0.990000" timestamp="1970-01-01T00:00:00">
	    <testcase name="build" classname="bash ci.sh" time="0.490000"/>
	    <testcase name="ci.sh:7 make check" classname="bash ci.sh" time="0.190000" file="ci.sh" line="7">
	      <failure message="status 2" type="failure"/>
	    </testcase>
	    <testcase name="left" classname="bash ci.sh" time="0.200000">
	      <error message="end not recorded" type="error"/>
	    </testcase>
	  </testsuite>
	</testsuites>
	`)
}

// caseXML, suiteXML and suitesXML are JUnit XML as its readers know it.
type caseXML struct {
	Name      string  `xml:"name,attr"`
	Class     string  `xml:"classname,attr"`
	Time      float64 `xml:"time,attr"`
	File      string  `xml:"file,attr"`
	Line      int     `xml:"line,attr"`
	Failure   *result `xml:"failure"`
	Error     *result `xml:"error"`
	SystemOut string  `xml:"system-out"`
}

type result struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

type suiteXML struct {
	Name       string  `xml:"name,attr"`
	Tests      int     `xml:"tests,attr"`
	Failures   int     `xml:"failures,attr"`
	Errors     int     `xml:"errors,attr"`
	Time       float64 `xml:"time,attr"`
	Timestamp  string  `xml:"timestamp,attr"`
	Properties []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"properties>property"`
	Cases []caseXML `xml:"testcase"`
}

type suitesXML struct {
	XMLName xml.Name   `xml:"testsuites"`
	Tests   int        `xml:"tests,attr"`
	Suites  []suiteXML `xml:"testsuite"`
}

func parseJUnit(t *testing.T, b []byte) (s suitesXML) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = true
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if path, err := exec.LookPath("xmllint"); err == nil {
		cmd := exec.Command(path, "--noout", "--huge", "-")
		cmd.Stdin = bytes.NewReader(b)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("xmllint: %v: %s", err, out)
		}
	}
	return s
}

func TestJUnitParsed(t *testing.T) {
	w := record(analysis.MaxNodes)
	w.exec(0, 1, "bash", "ci.sh")
	w.print(1, "before")
	w.span(2, 9, "outer", "", "", func() {
		w.span(3, 8, "step", "ci.sh:7 make check", "2", func() { w.print(5, "FAIL: \x1b[31mx < y\x1b[0m\x07]]>") })
	})
	w.print(9, "late")
	w.print(300, "after")
	w.user(301, "left.begin", 1, "")
	w.exit(302, 1, 2)
	s := parseJUnit(t, AppendJUnit(nil, w.run(), w.out))
	if len(s.Suites) != 1 || s.Tests != 3 || s.Suites[0].Name != "bash ci.sh" || s.Suites[0].Failures != 1 || s.Suites[0].Errors != 1 || len(s.Suites[0].Cases) != 3 {
		t.Fatalf("%+v", s)
	}
	c := s.Suites[0].Cases[1]
	if c.Name != "ci.sh:7 make check" || c.Class != "outer" || c.Time != 0.005 || c.File != "ci.sh" || c.Line != 7 || c.Failure == nil || c.Failure.Message != "status 2" ||
		c.SystemOut != `FAIL: x < y\x07]]>`+"\nlate\n" {
		t.Errorf("%+v %+v", c, c.Failure)
	}
	if c := s.Suites[0].Cases[2]; c.Error == nil || c.Error.Message != "end not recorded" {
		t.Errorf("%+v", c)
	}
}

// Without a span, the commands are the cases. A log without both is an empty suite.
func TestJUnitCommands(t *testing.T) {
	w := record(analysis.MaxNodes)
	w.exec(0, 1, "make")
	w.fork(1, 1, 2)
	w.exec(1, 2, "cc", "x.c")
	w.exit(5, 2, 1)
	w.exit(9, 1, 2)
	s := parseJUnit(t, AppendJUnit(nil, w.run(), w.out))
	if s.Tests != 2 || s.Suites[0].Cases[1].Name != "cc x.c" || s.Suites[0].Cases[1].Class != "make" || s.Suites[0].Failures != 2 {
		t.Errorf("%+v", s)
	}
	// A failure that the script tolerates is none of the run.
	w = record(analysis.MaxNodes)
	w.exec(0, 1, "sh", "x.sh")
	w.fork(1, 1, 2)
	w.exec(1, 2, "grep", "-q", "x")
	w.exit(5, 2, 1)
	w.exit(9, 1, 0)
	if s := parseJUnit(t, AppendJUnit(nil, w.run(), w.out)); s.Tests != 2 || s.Suites[0].Failures != 0 || s.Suites[0].Cases[1].Failure != nil {
		t.Errorf("%+v", s)
	}
	if s := parseJUnit(t, AppendJUnit(nil, record(1).run(), nil)); s.Tests != 0 || len(s.Suites) != 1 || s.Suites[0].Name != "a.trace" {
		t.Errorf("%+v", s)
	}
}

// hostileRun has harmful texts as names, data, arguments and output.
func hostileRun() (*Run, *Output) {
	w := record(analysis.MaxNodes)
	texts := append(hostile.Texts(), strings.Repeat("long ", 200_000), "</system-out></testcase>", "]]>", "a;b;c 12", "x\ny 5", " ", "]", "::warning::x")
	w.exec(0, 1, append([]string{"sh"}, texts[:50]...)...)
	at := int64(1)
	for i, s := range texts {
		pid := 2 + i
		w.fork(at, 1, pid)
		w.exec(at, pid, "x"+s, s)
		w.span(at, at+5, s[:min(len(s), 200)], s, "1", func() { w.print(at+1, s) })
		w.exit(at+6, pid, i%3)
		at += 10
	}
	w.user(at, "left.begin", 1, "\x1b[2J")
	w.exit(at+9, 1, 1)
	return w.run(), w.out
}

// No text of a log acts on a terminal, breaks a line or the form. No line is wider than the terminal.
func TestHostile(t *testing.T) {
	harmless := func(what string, b []byte) {
		t.Helper()
		find := hostile.Misleading
		if what == "junit" {
			find = hostile.Harmful
		}
		if at, found := find(string(b), ""); found {
			t.Fatalf("%s: %q", what, b[max(0, at-40):min(len(b), at+40)])
		}
	}
	r, out := hostileRun()
	for _, width := range []int{1, 5, 12, 20, 40, 80, 200} {
		for _, ascii := range []bool{false, true} {
			for name, b := range map[string][]byte{
				"tree":     AppendTree(nil, r, &Options{Top: 300, Width: width, ASCII: ascii}),
				"timeline": AppendTimeline(nil, r, &Options{Top: 300, Width: width, ASCII: ascii}),
			} {
				harmless(name, b)
				if ascii && strings.ContainsFunc(string(b), func(r rune) bool { return r >= 0x80 }) {
					t.Errorf("%s: not ASCII", name)
				}
				for line := range strings.Lines(string(b)) {
					// The last lines are not cut.
					if w := output.Width(strings.TrimSuffix(line, "\n")); w > max(width, 12) && !strings.Contains(line, "left out") {
						t.Fatalf("%s, width %d: %d in %q", name, width, w, line)
					}
				}
			}
		}
	}
	folded := AppendFolded(nil, r)
	harmless("folded", folded)
	stack := regexp.MustCompile(`^[^;\n]+(;[^;\n]+)* [1-9][0-9]*\n$`)
	for line := range strings.Lines(string(folded)) {
		if frames := strings.Count(line, ";"); !stack.MatchString(line) || frames > 2 {
			t.Fatalf("%q", line)
		}
	}
	b := AppendJUnit(nil, r, out)
	harmless("junit", b)
	s := parseJUnit(t, b)
	spans := len(hostile.Texts()) + 8
	if s.Tests != len(s.Suites[0].Cases) || s.Tests < spans {
		t.Errorf("%d tests, %d cases, want %d", s.Tests, len(s.Suites[0].Cases), spans)
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
			t.Errorf("a workflow command: %q", line)
		}
	}
}

// The rows are bounded, and what is left out is counted.
func TestRows(t *testing.T) {
	w := record(1000)
	w.exec(0, 1, "make")
	const n = 5000
	for i := range int64(n) {
		w.span(i, i+1, "s", "", "", nil)
	}
	w.user(n, "slow.begin", 1, "")
	w.user(9*n, "slow.end", 1, "")
	w.exit(10*n, 1, 0)
	r := w.run()
	more := regexp.MustCompile(`\.\.\. ([0-9]+) more`)
	for _, o := range []Options{{Top: 1}, {Top: 10}, {Top: 100}, {Top: summary.Screen}, {Top: summary.Screen, Width: 80, Height: 25}, {Top: summary.All}} {
		for name, text := range map[string]string{"tree": string(AppendTree(nil, r, &o)), "timeline": string(AppendTimeline(nil, r, &o))} {
			lines, left := 0, 0
			for line := range strings.Lines(text) {
				if line == "\n" {
					break
				}
				lines++
				for _, m := range more.FindAllStringSubmatch(line, -1) {
					count, _ := strconv.Atoi(m[1])
					left += count
				}
			}
			shown := lines - 1 // the header
			limit := 1000 + 10
			switch {
			case o.Top > 0:
				limit = max(o.Top, 2)
			case o.Height > 0:
				limit = o.Height - 4
			case o.Top == summary.Screen:
				limit = pipedRows
			}
			if left > 0 {
				shown--
			}
			if lines-1 > limit || shown+left != n+2 {
				t.Errorf("%s, %+v: %d lines, %d rows and %d left out, want %d", name, o, lines, shown, left, n+2)
			}
			if o.Top > 2 && !strings.Contains(text, "[slow]") {
				t.Errorf("%s, %+v: the slow one is missing", name, o)
			}
		}
	}
}

// Of a build with more commands than the terminal has lines, the rows have what the run waited for. The
// failures that a script tolerates do not stand in their place, the one that ended the run does.
func TestRowsOfSlowPath(t *testing.T) {
	build := func(status int) *Run {
		w := record(analysis.MaxNodes)
		steps := map[int64][]func(){}
		pid := 3
		command := func(parent int, from, to int64, status int, argv ...string) {
			child := pid
			steps[from] = append(steps[from], func() {
				w.fork(from, parent, child)
				w.exec(from, child, argv...)
			})
			steps[to] = append(steps[to], func() { w.exit(to, child, status) })
			pid++
		}
		w.exec(0, 1, "make", "-j4")
		w.fork(1, 1, 2)
		w.exec(1, 2, "sh", "configure")
		for i := range int64(40) {
			command(2, 10+20*i, 20+20*i, 1, "grep", "-q", fmt.Sprint("feature", i))
		}
		command(2, 820, 900, 0, "sleep", "0.08")
		steps[990] = append(steps[990], func() { w.exit(990, 2, 0) })
		for i := range int64(250) {
			cc := pid
			command(1, 1000+4*i, 1100+4*i, 0, "cc", fmt.Sprintf("f%d.c", i))
			command(cc, 1000+4*i, 1099+4*i, 0, "cc1", fmt.Sprintf("f%d.c", i))
			command(cc, 1099+4*i, 1100+4*i, 0, "as", fmt.Sprintf("f%d.s", i))
		}
		command(1, 1300, 9500, 0, "cc", "slow.c")
		command(1, 9500, 9900, 0, "ld", "app")
		if status != 0 {
			command(1, 9910, 9915, 1, "./test")
		}
		for _, at := range slices.Sorted(maps.Keys(steps)) {
			for _, f := range steps[at] {
				f()
			}
		}
		w.exit(10_000, 1, status)
		return w.run()
	}
	for _, status := range []int{0, 2} {
		for _, height := range []int{24, 40, 60} {
			r := build(status)
			r.Lost = 3 // a line more below
			o := &Options{Top: summary.Screen, Width: 80, Height: height}
			for name, text := range map[string]string{"tree": string(AppendTree(nil, r, o)), "timeline": string(AppendTimeline(nil, r, o))} {
				for _, want := range []string{"cc slow.c", "ld app", "sh configure"} {
					if !strings.Contains(text, want) {
						t.Errorf("%s of %d lines: no %s:\n%s", name, height, want, text)
					}
				}
				if strings.Contains(text, "test") != (status != 0) {
					t.Errorf("%s of %d lines, status %d: the cause of the failure:\n%s", name, height, status, text)
				}
				if n := strings.Count(text, "grep"); n > 0 && height == 24 {
					t.Errorf("%s of %d lines: %d failures that the script tolerates:\n%s", name, height, n, text)
				}
				// The last line of the terminal has the prompt. A command with others inside may need two.
				if n := strings.Count(text, "\n"); n != height-1 && n != height-2 {
					t.Errorf("%s: %d lines of %d", name, n, height)
				}
			}
		}
	}
}

// Stacks of a forged log are deep. The output is bounded, and the time is not lost.
func TestFoldedDeep(t *testing.T) {
	w := record(analysis.MaxNodes)
	const depth = 30_000
	for i := range int64(depth) {
		w.user(i, fmt.Sprintf("%050d.begin", i%3000), 1, "")
	}
	for i := range int64(depth) {
		w.user(depth+i, fmt.Sprintf("%050d.end", (depth-1-i)%3000), 1, "")
	}
	b := AppendFolded(nil, w.run())
	total := int64(0)
	for line := range bytes.Lines(b) {
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line[bytes.LastIndexByte(line, ' ')+1:])), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if len(b) > maxFolded+maxFolded/2 || total != (2*depth-1)*1000 {
		t.Errorf("%d bytes, %d of %d", len(b), total, (2*depth-1)*1000)
	}
}

// The times of a scale are round, and far enough from each other to be read.
func TestScale(t *testing.T) {
	for _, ns := range []int64{1, 7, 1000, 12_345, 999_999, 3_141_592, 250_000_000, 1e9, 59e9, 61e9, 600e9, 4000e9, 86400e9, 1<<63 - 1} {
		for _, columns := range []int{1, 6, 20, 60, 180} {
			a := analysis.New(analysis.Limits{})
			a.Events, a.First, a.Last = 2, 0, ns
			s := &show{Run: &Run{Tree: &analysis.Tree{End: ns}, Analysis: a}, Options: &Options{}}
			line := s.scale(columns)
			if output.Width(line) > columns || columns >= 20 && !strings.HasPrefix(line, "|0") || strings.Count(line, "|") > columns/10+1 {
				t.Errorf("%d ns, %d columns: %q", ns, columns, line)
			}
			for i, word := range strings.Fields(line) {
				if !regexp.MustCompile(`^\|([0-9.]+(ns|µs|ms|s)|[0-9]+h([0-9]+m)?|[0-9]+m([0-9]+s)?|0|[0-9.]+s)$`).MatchString(word) {
					t.Errorf("%d ns: %q is no time (%d)", ns, word, i)
				}
			}
		}
	}
}

// Failures are red, the slow path is strong, and nothing else has a colour.
func TestColors(t *testing.T) {
	o := &Options{Top: summary.Screen, Red: "\x1b[31m", Bold: "\x1b[1m"}
	for _, text := range []string{string(AppendTree(nil, job(), o)), string(AppendTimeline(nil, job(), o))} {
		for line := range strings.Lines(text) {
			switch {
			case strings.Contains(line, "make check"), strings.Contains(line, "bash ci.sh"):
				if !strings.HasPrefix(line, "\x1b[1m\x1b[31m") || !strings.HasSuffix(line, "\x1b[0m\n") {
					t.Errorf("%q", line)
				}
			case strings.Contains(line, "cc slow.c"):
				if !strings.HasPrefix(line, "\x1b[1m") || strings.Contains(line, "\x1b[31m") {
					t.Errorf("%q", line)
				}
			case strings.Contains(line, "cc a.c"), strings.Contains(line, "slow path"):
				if strings.Contains(line, "\x1b") {
					t.Errorf("%q", line)
				}
			}
		}
	}
}

// Losses, jumps of the clock and an empty log are reported.
func TestNotes(t *testing.T) {
	w := record(1)
	for _, text := range []string{string(AppendTree(nil, w.run(), &Options{})), string(AppendTimeline(nil, record(1).run(), &Options{}))} {
		if text != "no processes or spans in 0 events\n" {
			t.Errorf("%q", text)
		}
	}
	w = record(analysis.MaxNodes)
	w.exec(10, 1, "a")
	w.exit(5, 1, 0)
	r := w.run()
	r.Lost = 3
	text := string(AppendTree(nil, r, &Options{Red: "\x1b[31m"}))
	if !strings.Contains(text, "1 event is older than the one before") || !strings.Contains(text, "\n\x1b[31m3 events were lost: ") {
		t.Errorf("%q", text)
	}
	r.Omitted = 7
	s := parseJUnit(t, AppendJUnit(nil, r, nil))
	if p := s.Suites[0].Properties; len(p) != 2 || p[0].Name != "omitted" || p[0].Value != "7" || p[1].Value != "3" {
		t.Errorf("%+v", p)
	}
}

// The output of many failed cases is bounded.
func TestOutputBounded(t *testing.T) {
	w := record(analysis.MaxNodes)
	for i := range int64(300) {
		w.span(10*i, 10*i+9, "s", "", "1", func() {
			for range 30 {
				w.print(10*i+1, strings.Repeat("x", 2000))
			}
		})
	}
	total := 0
	for _, lines := range w.out.kept {
		for _, l := range lines {
			total += len(l)
		}
	}
	if total == 0 || total > maxOutput {
		t.Errorf("%d bytes", total)
	}
}
