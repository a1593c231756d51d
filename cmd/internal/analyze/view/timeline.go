package view

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// DefaultWidth is that of a timeline where there is no terminal.
const DefaultWidth = 80

// layout are the columns of a timeline: name, lane, end.
type layout struct{ name, lane, end int }

// AppendTimeline appends the commands and spans as lanes.
func AppendTimeline(b []byte, r *Run, o *Options) []byte {
	s := newShow(r, o)
	if len(r.Nodes) == 0 {
		return s.notes(append(b, s.empty()...))
	}
	rows := s.rows(s.rowLimit())
	names, ends := make([]string, len(rows)), make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		if names[i] = r.indent + s.name(r); r.node == analysis.None {
			names[i] = r.indent + "... " + strconv.FormatInt(r.count, 10) + " more"
		}
		ends[i] = s.end(r)
	}
	l := s.layout(names, ends)
	b = append(append(b, strings.TrimRight(strings.Repeat(" ", l.name+1)+s.scale(l.lane), " ")...), '\n')
	for i := range rows {
		r := &rows[i]
		line := fill(s.fit(names[i], l.name), l.name) + " " + fill(s.lane(r, l.lane), l.lane)
		if l.end > 0 {
			line += " " + pad(ends[i], l.end)
		}
		b = append(s.painted(b, strings.TrimRight(line, " "), s.color(r.node)), '\n')
	}
	legend := "█ slow path: what the run waited for   ▄ other"
	if s.ASCII {
		legend = "# slow path: what the run waited for   = other"
	}
	return s.notes(append(append(append(b, '\n'), s.fit(legend, s.Width)...), '\n'))
}

// end returns what is after the lane of a row: its duration, and its status unless that is 0.
func (s *show) end(r *row) string {
	if r.node == analysis.None {
		return ""
	}
	n := &s.Nodes[r.node]
	if text := status(n); text != "" && text != "0" {
		return text + " " + s.duration(n.Duration())
	}
	return s.duration(n.Duration())
}

// layout divides the width.
func (s *show) layout(names, ends []string) (l layout) {
	width := s.Width
	if width <= 0 {
		width = DefaultWidth
	}
	const least = 6
	width = max(width, 2*least)
	for i := range names {
		l.name = max(l.name, output.Width(names[i]))
		l.end = max(l.end, output.Width(ends[i]))
	}
	if width < 40 {
		l.end = 0
	}
	rest := width - 1
	if l.end > 0 {
		rest -= l.end + 1
	}
	l.name = min(l.name, max(rest*2/5, least-1), 60)
	l.lane = max(rest-l.name, 1)
	return l
}

// lane returns the lane of a row.
func (s *show) lane(r *row, columns int) string {
	bar := s.newBar(columns)
	for _, i := range append([]int32{r.node}, r.hidden...) {
		if i == analysis.None {
			continue
		}
		n := &s.Nodes[i]
		bar.draw(s.since(n.Start), s.since(n.End), runs)
		if p := s.path[i]; p != nil {
			bar.draw(s.since(p.from), s.since(p.to), slow)
		}
	}
	return bar.text(s.ASCII)
}
