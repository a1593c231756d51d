package view

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// AppendJUnit appends the spans as test cases, a test suite for each log: JUnit XML, as CI servers
// read it. The first command of a log is a case, too, if it failed and no span did. Where no log has a
// span, the commands are the cases. out has the output of those that
// failed, and may be nil.
func AppendJUnit(b []byte, r *Run, out *Output) []byte {
	j := &junit{Run: r, out: out, kind: analysis.Process}
	for i := range r.Nodes {
		if r.Nodes[i].Kind == analysis.SpanKind {
			j.kind = analysis.SpanKind
		}
	}
	suites := make([]suite, len(r.Names))
	var all suite
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Kind == j.kind && int(n.Source) < len(suites) {
			suites[n.Source].add(int32(i), n)
			all.count(n)
		}
	}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; int(n.Source) < len(suites) && suites[n.Source].failures == 0 && j.kind != analysis.Process && j.isFailedRun(n) {
			suites[n.Source].add(int32(i), n)
			all.count(n)
		}
	}
	for i := range suites {
		if j.unsound(i) != "" {
			for _, s := range []*suite{&suites[i], &all} {
				s.tests++
				s.unknown++
			}
		}
	}
	b = append(b, xml.Header...)
	b = append(b, "<testsuites"...)
	b = append(j.counts(b, &all, r.Analysis.Duration()), ">\n"...)
	for i := range suites {
		b = j.suite(b, &suites[i], i)
	}
	return append(b, "</testsuites>\n"...)
}

type junit struct {
	*Run
	out  *Output
	kind analysis.Kind
}

// suite has the cases of a log.
type suite struct {
	nodes                    []int32
	tests, failures, unknown int
	start, end               int64
}

func (s *suite) add(i int32, n *analysis.Node) {
	if len(s.nodes) == 0 {
		s.start, s.end = n.Start, n.End
	}
	s.start, s.end = min(s.start, n.Start), max(s.end, n.End)
	s.nodes = append(s.nodes, i)
	s.count(n)
}

func (s *suite) count(n *analysis.Node) {
	s.tests++
	switch {
	case failedCase(n):
		s.failures++
	case unended(n):
		s.unknown++
	}
}

// isFailedRun reports whether an interval is the first command of its log, and failed.
func (j *junit) isFailedRun(n *analysis.Node) bool {
	return n.Kind == analysis.Process && n.Failed && slices.ContainsFunc(j.Analysis.Runs(), func(r *analysis.Run) bool {
		return r.Command.Source == int(n.Source) && r.PID == int(n.PID) && r.Start == n.Start
	})
}

// failedCase reports whether a case failed. What a script tolerates is its answer.
func failedCase(n *analysis.Node) bool { return n.Failed && !n.Tolerated }

// unended reports whether the log does not say how a case ended.
func unended(n *analysis.Node) bool {
	return n.State == analysis.Running || n.State == analysis.Lost
}

func (j *junit) suite(b []byte, s *suite, source int) []byte {
	length := (&analysis.Node{Start: s.start, End: s.end}).Duration()
	b = append(b, "  <testsuite"...)
	b = attribute(b, "name", j.suiteName(source))
	b = j.counts(b, s, length)
	if len(s.nodes) > 0 {
		b = attribute(b, "timestamp", time.Unix(0, s.start).UTC().Format("2006-01-02T15:04:05"))
	}
	b = append(b, ">\n"...)
	if source == 0 && (j.Omitted > 0 || j.Lost > 0) {
		b = append(b, "    <properties>\n"...)
		for _, p := range []struct {
			name string
			n    uint64
		}{{"omitted", uint64(j.Omitted)}, {"lost", j.Lost}} {
			if p.n > 0 {
				b = append(attribute(attribute(append(b, "      <property"...), "name", p.name), "value", strconv.FormatUint(p.n, 10)), "/>\n"...)
			}
		}
		b = append(b, "    </properties>\n"...)
	}
	for _, i := range s.nodes {
		b = j.testCase(b, i)
	}
	if why := j.unsound(source); why != "" {
		b = attribute(attribute(append(b, "    <testcase"...), "name", j.Names[source]), "classname", j.suiteName(source))
		b = attribute(append(attribute(b, "time", seconds(0)), ">\n      <error"...), "message", why+": cases may be missing")
		b = append(attribute(b, "type", "error"), "/>\n    </testcase>\n"...)
	}
	if source == 0 && j.Lost > 0 {
		b = append(text(append(b, "    <system-err>"...), cli.Plural(j.Lost, "event was", "events were")+" lost: cases may be missing"), "</system-err>\n"...)
	}
	return append(b, "  </testsuite>\n"...)
}

// unsound returns why a log is not whole, or "".
func (j *junit) unsound(source int) string {
	if source < len(j.Unsound) {
		return j.Unsound[source]
	}
	return ""
}

// suiteName returns the label of the first command of a log, or the name of the log.
func (j *junit) suiteName(source int) string {
	for _, r := range j.Analysis.Runs() {
		if r.Command.Source == source {
			return r.Label()
		}
	}
	return j.Names[source]
}

func (j *junit) counts(b []byte, s *suite, length int64) []byte {
	b = attribute(b, "tests", strconv.Itoa(s.tests))
	b = attribute(b, "failures", strconv.Itoa(s.failures))
	b = attribute(b, "errors", strconv.Itoa(s.unknown))
	b = attribute(b, "skipped", "0")
	return attribute(b, "time", seconds(length))
}

func (j *junit) testCase(b []byte, i int32) []byte {
	n := &j.Nodes[i]
	name := label(j.Run, i)
	b = append(b, "    <testcase"...)
	b = attribute(b, "name", name)
	b = attribute(b, "classname", j.class(i))
	b = attribute(b, "time", seconds(n.Duration()))
	if file, line, ok := place(name); ok && n.Kind == analysis.SpanKind {
		b = attribute(attribute(b, "file", file), "line", line)
	}
	element := ""
	switch {
	case failedCase(n):
		element = "failure"
	case unended(n):
		element = "error"
	default:
		return append(b, "/>\n"...)
	}
	b = append(append(b, ">\n      <"...), element...)
	message := ending(n)
	if n.Limit > 0 || j.isFailedRun(n) {
		message += j.hung(n)
	}
	if n.Limit > 0 {
		message += j.runningThen(n)
	}
	b = attribute(attribute(b, "message", message), "type", element)
	b = append(b, "/>\n"...)
	if lines := j.out.of(n); len(lines) > 0 {
		b = append(b, "      <system-out>"...)
		for _, l := range lines {
			guard := escape.Guard{Notation: escape.XML, Lines: true}
			b = append(append(b, guard.Apply(xmlText(nil, []byte(l)))...), '\n')
		}
		b = append(b, "</system-out>\n"...)
	}
	return append(b, "    </testcase>\n"...)
}

// hung returns why a first command did not end before it was ended.
func (j *junit) hung(n *analysis.Node) string {
	for _, r := range j.Analysis.Runs() {
		if r.Command.Source != int(n.Source) {
			continue
		}
		if text := summary.Hung(j.Analysis, r); text != "" {
			return "; then: " + text
		}
	}
	return ""
}

// runningThen returns what ran when the time limit of a first command passed.
func (j *junit) runningThen(n *analysis.Node) string {
	for _, r := range j.Analysis.Runs() {
		if r.Command.Source != int(n.Source) {
			continue
		}
		if text := summary.RunningThen(r); text != "" {
			return "; running then: " + text
		}
	}
	return ""
}

// maxClass bounds how many intervals are in the name of a class.
const maxClass = 4

// class returns what is around a case, the outermost first: its spans, or the command if there is
// none.
func (j *junit) class(i int32) string {
	var list []string
	for p := j.Nodes[i].Parent; p != analysis.None && len(list) < maxClass; p = j.Nodes[p].Parent {
		if j.Nodes[p].Kind == j.kind {
			list = append([]string{label(j.Run, p)}, list...)
		}
	}
	if len(list) == 0 {
		return j.suiteName(int(j.Nodes[i].Source))
	}
	return strings.Join(list, " / ")
}

// place returns file and line of a step, whose name is "FILE:LINE COMMAND".
func place(name string) (file, line string, ok bool) {
	before, _, _ := strings.Cut(name, " ")
	i := strings.LastIndexByte(before, ':')
	if i <= 0 {
		return "", "", false
	}
	if _, err := strconv.ParseUint(before[i+1:], 10, 31); err != nil {
		return "", "", false
	}
	return before[:i], before[i+1:], true
}

// seconds formats a duration.
func seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) }

// attribute appends an attribute of an element. The value is untrusted.
func attribute(b []byte, name, value string) []byte {
	b = append(append(append(b, ' '), name...), `="`...)
	return append(text(b, value), '"')
}

// text appends untrusted text. What XML does not allow, or a terminal acts on, is escaped before what
// has a meaning in XML.
func text(b []byte, s string) []byte { return xmlText(b, escape.AppendPrintable(nil, s)) }

// xmlText appends text of which XML allows each character, and which a terminal shows.
func xmlText(b, s []byte) []byte {
	var buf bytes.Buffer
	xml.EscapeText(&buf, s)
	return append(b, buf.Bytes()...)
}
