// Package view shows the commands and spans of a run: as a tree, as lanes of a timeline, as folded
// stacks and as test cases.
//
// rows.go selects the rows that are worth showing; tree.go and timeline.go write them, with scale.go
// and bars.go. folded.go and junit.go write all there is. text.go has what they share.
package view

import (
	"bytes"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Run is what a view shows. Its texts are untrusted.
type Run struct {
	*analysis.Tree
	Analysis *analysis.Analysis
	Names    []string // of the logs
	Unsound  []string // why each log is not whole, "" if it is; nil if all are
	Lost     uint64   // events
}

// Options are the choices of the user.
type Options struct {
	Top    int    // rows: summary.All, summary.Screen, or a number
	Width  int    // of a line, 0 for no limit
	Height int    // of the terminal, 0 if there is none
	ASCII  bool   // no character beyond ASCII
	Red    string // selects the colour of failures, "" for none
	Bold   string // selects that of the slow path, "" for none
}

// show is a run that is being shown as text.
type show struct {
	*Run
	*Options
	path      map[int32]*part // the nodes of the slow path
	succeeded map[int32]bool  // the logs whose first command did
}

// part is what a node is on the slow path.
type part struct {
	from, to int64
	self     int64
}

func newShow(r *Run, o *Options) *show {
	s := &show{Run: r, Options: o, path: map[int32]*part{}, succeeded: map[int32]bool{}}
	for _, run := range r.Analysis.Runs() {
		s.succeeded[int32(run.Command.Source)] = run.State == analysis.Ended && !run.Failed()
	}
	for _, l := range r.Chain() {
		s.path[l.Node] = &part{from: l.Start, to: l.End, self: l.Self}
	}
	return s
}

// length returns the time from the first to the last event, at least 1.
func (s *show) length() int64 { return max(s.Analysis.Duration(), 1) }

// since returns the time of a moment of the run from the first event on.
func (s *show) since(at int64) int64 {
	if at <= s.Start {
		return 0
	}
	return int64(min(uint64(at)-uint64(s.Start), uint64(s.length())))
}

// empty is the text for a log without commands and spans.
func (s *show) empty() string {
	return "no processes or spans in " + cli.Plural(s.Analysis.Events, "event", "events") + "\n"
}

// notes returns the lines below the rows.
func (s *show) notes(b []byte) []byte {
	add := func(n uint64, one, many, text string) {
		if n > 0 {
			b = append(append(append(b, cli.Plural(n, one, many)...), text...), '\n')
		}
	}
	t := s.Analysis.CommandTotals()
	add(s.Analysis.Backward, "event is", "events are", " older than the one before: durations may be wrong")
	add(t.Ignored, "process", "processes", " left out: too many at a time")
	add(s.Analysis.IgnoredSpans(), "span", "spans", " left out: too many are open")
	if s.Lost > 0 {
		text := cli.Plural(s.Lost, "event was", "events were") + " lost: some rows may be missing or too long"
		b = append(s.painted(b, text, s.Red), '\n')
	}
	return b
}

// painted appends text in a colour.
func (s *show) painted(b []byte, text, color string) []byte {
	if color == "" {
		return append(b, text...)
	}
	return append(append(append(b, color...), text...), "\x1b[0m"...)
}

// color returns the colour of a row.
func (s *show) color(i int32) string {
	if i == analysis.None {
		return ""
	}
	color := ""
	if s.path[i] != nil {
		color = s.Bold
	}
	if s.Nodes[i].Failed && !s.Nodes[i].Tolerated {
		color += s.Red
	}
	return color
}

// rowLimit returns how many rows to show: as many as the terminal has lines beside the header, the legend, an
// empty line before it, the notes, and the next prompt.
func (s *show) rowLimit() int {
	switch {
	case s.Top > 0:
		return s.Top
	case s.Top == summary.All:
		return 2 * analysis.MaxNodes
	case s.Height > 0:
		return max(s.Height-4-bytes.Count(s.notes(nil), []byte{'\n'}), leastRows)
	}
	return pipedRows
}

const (
	// pipedRows are the rows where there is no terminal, leastRows those on a small one.
	pipedRows = 200
	leastRows = 10
)
