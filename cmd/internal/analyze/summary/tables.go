package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// table is one table of the summary. Its cells are untrusted text.
type table struct {
	title   string
	columns []string // the names; those of text begin with a space
	rows    []row
	hidden  uint64 // rows that the analysis did not keep
	line    string // the column with lines of output
}

type row struct {
	cells  []string
	failed bool
}

func (t *table) add(failed bool, cells ...string) { t.rows = append(t.rows, row{cells, failed}) }

// isLine reports whether a column has lines of output.
func (t *table) isLine(column int) bool { return t.line != "" && t.columns[column] == t.line }

// shown returns the text of a cell.
func (t *table) shown(column int, cell string) string {
	if t.isLine(column) {
		return shownLine(cell)
	}
	return shown(cell)
}

// drop removes columns whose cells are all empty or one of the values that mean nothing.
func (t *table) drop(names ...string) {
	for _, name := range names {
		i := slices.Index(t.columns, name)
		if i < 0 || slices.ContainsFunc(t.rows, func(r row) bool { return r.cells[i] != "" && r.cells[i] != "0" && r.cells[i] != "-" }) {
			continue
		}
		t.remove(name)
	}
}

// remove removes a column if the table has it.
func (t *table) remove(name string) {
	i := slices.Index(t.columns, name)
	if i < 0 {
		return
	}
	t.columns = slices.Delete(t.columns, i, i+1)
	for j := range t.rows {
		t.rows[j].cells = slices.Delete(t.rows[j].cells, i, i+1)
	}
}

// tables returns the tables of the log, most important first.
func (s *show) tables() (list []*table) {
	for _, t := range []*table{s.hangs(), s.commands(), s.programs(), s.spans(), s.pauses(), s.calls(), s.counts()} {
		if t != nil && len(t.rows) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// sorted sorts a list by the column that the user has asked for, if the table has it. Of a number
// the greatest comes first.
func sorted[T any](s *show, list []T, name func(T) string, numbers map[string]func(T) int64) {
	if s.Sort == "name" {
		slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	} else if key := numbers[s.Sort]; key != nil {
		slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(b), key(a)) })
	}
}

// rankedCommands returns the commands in the order of the table: without another order, the causes
// of failures first.
func (s *show) rankedCommands() []*analysis.Command {
	list, failed := s.Commands()
	if s.Sort != "" {
		sorted(s, list, (*analysis.Command).Label, map[string]func(*analysis.Command) int64{
			"failed": func(c *analysis.Command) int64 {
				if c.Failed() {
					return 1
				}
				return 0
			},
		})
		return list
	}
	type id struct {
		source, pid int
		start       int64
	}
	of := func(c *analysis.Command) id { return id{c.Source, c.PID, c.Start} }
	first := failed[:min(len(failed), s.failedFirst())]
	seen := map[id]bool{}
	for _, c := range first {
		seen[of(c)] = true
	}
	list = slices.DeleteFunc(list, func(c *analysis.Command) bool { return seen[of(c)] })
	return append(slices.Clone(first), list...)
}

// failedFirst returns how many failed commands come before the slowest ones. In a run that
// succeeded, failures are answers, as those of test and grep.
func (s *show) failedFirst() int {
	if runs := s.Runs(); len(runs) == 1 && !runs[0].Failed() && runs[0].State == analysis.Ended {
		return 0
	}
	return 3
}

// The titles of tables.
const (
	commandTitle = "Commands"
	programTitle = "Programs"
	spanTitle    = "Spans"
	pauseTitle   = "Pauses in the output"
	countTitle   = "Events"
)

func (s *show) commands() *table {
	n := s.CommandTotals().Commands
	if n == 0 || n == 1 && len(s.Runs()) == 1 {
		return nil // the first line has it
	}
	list := s.rankedCommands()
	starved := len(busy(s.Runs())) > 0 || slices.ContainsFunc(list[:min(len(list), pipedRows)], (*analysis.Command).Starved)
	t := &table{title: commandTitle, columns: []string{" command", "wall", "self", "cpu", waitColumn, "memory", "status"}, hidden: n - min(n, uint64(len(list)))}
	for _, c := range list {
		cpu := duration(c.CPU)
		if c.State != analysis.Ended {
			cpu = "-"
		}
		end := status(c)
		if s.Tolerated(c) {
			end += " (tolerated)"
		}
		t.add(c.Failed() && !s.Tolerated(c), c.Label(), duration(c.Wall), duration(c.Self), cpu, wait(c), size(c.Memory), end)
	}
	if !starved {
		t.remove(waitColumn)
	}
	return t
}

// waitColumn is the time for which a command waited for a processor, where one did so for long.
const waitColumn = "wait"

func wait(c *analysis.Command) string {
	if c.Delay == 0 {
		return "-"
	}
	return duration(c.Delay)
}

func (s *show) programs() *table {
	list := s.Programs()
	if !slices.ContainsFunc(list, func(g *analysis.Program) bool { return g.Commands > 1 }) || len(list) < 2 {
		return nil
	}
	sorted(s, list, func(g *analysis.Program) string { return g.Name }, map[string]func(*analysis.Program) int64{
		"count": func(g *analysis.Program) int64 { return int64(g.Commands) }, "failed": func(g *analysis.Program) int64 { return int64(g.Failed) },
		"wall": func(g *analysis.Program) int64 { return g.Wall }, "total": func(g *analysis.Program) int64 { return g.Wall },
		"cpu": func(g *analysis.Program) int64 { return g.CPU }, "memory": func(g *analysis.Program) int64 { return g.Memory },
		"self": func(g *analysis.Program) int64 { return g.Self },
	})
	t := &table{title: programTitle, columns: []string{" program", "count", "failed", "wall", "self", "cpu", "memory"}}
	for _, g := range list {
		t.add(false, cmp.Or(g.Name, "(others)"), number(g.Commands), number(g.Failed), duration(g.Wall), duration(g.Self), duration(g.CPU), size(g.Memory))
	}
	t.drop("failed")
	return t
}

// spanName returns what a span is called in tables.
func spanName(r *analysis.Span) string { return cmp.Or(r.Step, r.Name) }

// rankedSpans returns the spans in the order of the table: without another order, the causes of
// failures first.
func (s *show) rankedSpans() []*analysis.Span {
	list := s.Spans()
	if s.Sort != "" {
		sortSpans(s, list)
		return list
	}
	first := s.FailedSpans()
	first = first[:min(len(first), s.failedFirst())]
	list = slices.DeleteFunc(list, func(r *analysis.Span) bool { return slices.Contains(first, r) })
	return append(slices.Clone(first), list...)
}

func sortSpans(s *show, list []*analysis.Span) {
	sorted(s, list, spanName, map[string]func(*analysis.Span) int64{
		"count": func(r *analysis.Span) int64 { return int64(r.Times.Count) }, "failed": func(r *analysis.Span) int64 { return int64(r.Failed) },
		"p50": func(r *analysis.Span) int64 { return r.Times.Quantile(.5) }, "p95": func(r *analysis.Span) int64 { return r.Times.Quantile(.95) },
		"max": func(r *analysis.Span) int64 { return r.Times.Max }, "mean": func(r *analysis.Span) int64 { return r.Times.Mean() },
		"total": func(r *analysis.Span) int64 { return r.Times.Total }, "wall": func(r *analysis.Span) int64 { return r.Times.Total },
		"self": func(r *analysis.Span) int64 { return r.Self },
	})
}

func (s *show) spans() *table {
	list := s.rankedSpans()
	t := &table{title: spanTitle, columns: []string{" span", "count", "p50", "p95", "max", "total", "self", "failed", "open", "unmatched", "overlapping"}}
	for _, r := range list {
		m := &r.Times
		cells := []string{spanName(r), number(m.Count), "-", "-", "-", "-", "-"}
		if m.Count > 0 {
			cells = append(cells[:2], duration(m.Quantile(.5)), duration(m.Quantile(.95)), duration(m.Max), duration(m.Total), duration(r.Self))
		}
		t.add(r.Failed > 0, append(cells, number(r.Failed), number(r.Open), number(r.Unmatched), number(r.Overlapping))...)
	}
	t.drop("failed", "open", "unmatched", "overlapping")
	return t
}

func (s *show) pauses() *table {
	list, lines := s.Pauses()
	if lines < 2 || len(list) == 0 {
		return nil
	}
	longest := list[0].Duration
	sorted(s, list, func(p *analysis.Pause) string { return string(p.Line) }, map[string]func(*analysis.Pause) int64{
		"time": func(p *analysis.Pause) int64 { return -max(p.At, -1<<63+1) },
	})
	t := &table{title: pauseTitle, columns: []string{"pause", "at", " after the line", " meanwhile"}, line: " after the line"}
	for _, p := range list {
		if s.Top == Screen && p.Duration < longest/100 {
			t.hidden++
			continue
		}
		t.add(false, duration(p.Duration), duration(max(p.At-s.First, 0)), lineBefore(p), meanwhile(p))
	}
	t.drop(" meanwhile")
	return t
}

// lineBefore returns the line before a pause.
func lineBefore(p *analysis.Pause) string {
	switch line := unstyled(p.Line); {
	case p.Start:
		return "(start)"
	case line == "":
		return "(empty line)"
	default:
		return line
	}
}

// meanwhile returns what ran during a pause.
func meanwhile(p *analysis.Pause) string {
	var list []string
	if p.Command != nil {
		list = append(list, p.Command.Label())
	}
	if p.Meanwhile != nil {
		list = append(list, spanName(p.Meanwhile))
	}
	return strings.Join(list, ", ")
}

func (s *show) calls() *table {
	list := s.Calls()
	sorted(s, list, func(c *analysis.Call) string { return c.Name }, map[string]func(*analysis.Call) int64{
		"count": func(c *analysis.Call) int64 { return int64(c.Calls) }, "failed": func(c *analysis.Call) int64 { return int64(c.Errors) },
		"total": func(c *analysis.Call) int64 { return c.Times.Total }, "wall": func(c *analysis.Call) int64 { return c.Times.Total },
		"mean": func(c *analysis.Call) int64 { return c.Times.Mean() }, "max": func(c *analysis.Call) int64 { return c.Times.Max },
		"p50": func(c *analysis.Call) int64 { return c.Times.Quantile(.5) }, "p95": func(c *analysis.Call) int64 { return c.Times.Quantile(.95) },
	})
	t := &table{title: "System calls", columns: []string{" system call", "calls", "errors", "total", "mean", "p95", "max"}}
	for _, c := range list {
		m := &c.Times
		t.add(false, c.Name, number(c.Calls), number(c.Errors), duration(m.Total), duration(m.Mean()), duration(m.Quantile(.95)), duration(m.Max))
	}
	t.drop("errors")
	return t
}

func (s *show) counts() *table {
	list := s.Counts()
	sorted(s, list, func(c *analysis.Count) string { return c.Name }, map[string]func(*analysis.Count) int64{
		"bytes": func(c *analysis.Count) int64 { return int64(c.Bytes) },
	})
	t := &table{title: countTitle, columns: []string{" event", "count", "rate/s", "bytes"}}
	for _, c := range list {
		if !c.Span && !c.Call && (s.Marks || !isMark(c.ID)) {
			t.add(false, c.Name, number(c.Events), rate(s.Rate(c.Events)), number(c.Bytes))
		}
	}
	return t
}

// isMark reports whether a type is a mark of the trace system that says nothing about the run.
// Losses are in the headline.
func isMark(id posixtrace.EventID) bool {
	switch id {
	case posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventOverflow, posixtrace.EventResume:
		return true
	}
	return selection.IsUnasked(id)
}
