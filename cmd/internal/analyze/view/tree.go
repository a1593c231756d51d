package view

import (
	"fmt"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// AppendTree appends the commands and spans as a tree.
func AppendTree(b []byte, r *Run, o *Options) []byte {
	s := newShow(r, o)
	if len(r.Nodes) == 0 {
		return s.notes(append(b, s.empty()...))
	}
	rows := s.rows(s.rowLimit())
	lines := [][]string{{"start", "duration", "share", "path", "status"}}
	for i := range rows {
		lines = append(lines, s.cells(&rows[i]))
	}
	widths := s.columns(lines)
	for i, cells := range lines {
		line, color := "", ""
		for j, cell := range cells {
			if widths[j] > 0 && j == len(cells)-1 {
				line += fill(cell, widths[j]) + "  "
			} else if widths[j] > 0 {
				line += pad(cell, widths[j]) + "  "
			}
		}
		if i == 0 {
			line += "  name"
		} else {
			r := &rows[i-1]
			more := ""
			if r.node != analysis.None && r.count > 0 {
				more = fmt.Sprintf(" (%d more)", r.count)
			}
			line += s.mark(r) + r.indent + s.name(r)
			if s.Width > 0 {
				line = s.fit(line, max(s.Width-len(more), 1))
			}
			line += more
			color = s.color(r.node)
		}
		b = append(s.painted(b, strings.TrimRight(s.fit(line, s.Width), " "), color), '\n')
	}
	return s.notes(append(append(append(b, '\n'), s.legend()...), '\n'))
}

// cells returns the columns before the name of a row.
func (s *show) cells(r *row) []string {
	if r.node == analysis.None {
		return make([]string, 5)
	}
	n := &s.Nodes[r.node]
	cells := []string{s.duration(s.since(n.Start)), s.duration(n.Duration()), s.share(n.Duration()), "", status(n)}
	if p := s.path[r.node]; p != nil {
		cells[3] = s.duration(p.self)
	}
	return cells
}

// share returns a part of the time of the run.
func (s *show) share(ns int64) string {
	return output.Percent(min(float64(ns)/float64(s.length()), 1))
}

// leastName is how many columns the names keep before others are left out.
const leastName = 28

// columns returns the widths of the columns, 0 for those that have no room.
func (s *show) columns(lines [][]string) []int {
	widths := make([]int, len(lines[0]))
	total := 2
	for j := range widths {
		for _, cells := range lines {
			widths[j] = max(widths[j], output.Width(cells[j]))
		}
		total += widths[j] + 2
	}
	for _, j := range []int{2, 0, 4, 3} { // the duration stays
		if s.Width == 0 || total+leastName <= s.Width {
			break
		}
		total -= widths[j] + 2
		widths[j] = 0
	}
	return widths
}

// mark marks a row of the slow path.
func (s *show) mark(r *row) string {
	if r.node != analysis.None && s.path[r.node] != nil {
		return "* "
	}
	return "  "
}

// name returns the name of a row.
func (s *show) name(r *row) string {
	if r.node == analysis.None {
		return fmt.Sprintf("... %d more, the longest %s", r.count, s.duration(r.longest))
	}
	name := s.label(r.node)
	if s.Nodes[r.node].Kind == analysis.SpanKind {
		name = "[" + name + "]"
	}
	if text := s.Nodes[r.node].Error; text != "" {
		name += " " + s.text(summary.Cut(text, maxLabel))
	}
	return name
}

// legend explains the tree, and counts what it shows.
func (s *show) legend() string {
	var commands, spans uint64
	for i := range s.Nodes {
		if s.Nodes[i].Kind == analysis.SpanKind {
			spans++
		} else {
			commands++
		}
	}
	var parts []string
	if commands > 0 {
		parts = append(parts, cli.Plural(commands, "command", "commands"))
	}
	if spans > 0 {
		parts = append(parts, cli.Plural(spans, "[span]", "[spans]"))
	}
	if s.Omitted > 0 {
		parts = append(parts, cli.Plural(uint64(s.Omitted), "left out", "left out"))
	}
	text := strings.Join(parts, ", ") + " in " + s.duration(s.length()) + "; * slow path: what the run waited for"
	if commands == 1 && spans == 0 && s.Analysis.CommandTotals().Commands <= 1 {
		text += "; -e proc of ptrace-run records all processes"
	}
	return s.fit(text, s.Width)
}
