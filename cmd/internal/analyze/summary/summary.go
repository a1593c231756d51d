// Package summary shows where the time went, as analysis has found it: tables for people, JSON
// lines, and markdown. tables.go has the tables, one function a subject; headline.go the lines
// before them.
package summary

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Options are the choices of the user.
type Options struct {
	Form   Form
	Sort   string // one of Columns, "" for the order that says most
	Top    int    // rows of each table: All, Screen, or a number
	Width  int    // of the terminal, 0 for no limit
	Height int    // of the terminal, 0 if unknown
	Red    string // selects the colour of failures, "" for none
	Marks  bool   // the counts of events have the trace system's marks, too

	Unsound []string // why logs are not whole
}

// Form is a form of the summary.
type Form uint8

// The forms.
const (
	Text Form = iota
	JSON
	Markdown
)

// Special numbers of rows.
const (
	All    = 0
	Screen = -1 // as many as fit; in JSON all
)

// Columns are the columns by which the tables can be sorted. A table without the column keeps its
// order.
var Columns = []string{"name", "time", "count", "failed", "wall", "self", "cpu", "memory", "p50", "p95", "max", "mean", "total", "pause", "bytes"}

const (
	// mostKept bounds the rows for single commands and pauses.
	mostKept = 1000
	// pipedRows are the rows of each table where there is no terminal.
	pipedRows = 20
)

// New returns an analysis for a summary.
func New(o *Options) *analysis.Analysis {
	l := analysis.Limits{Rows: mostKept}
	if o.Top > mostKept {
		l.Rows = min(o.Top, 100*mostKept)
	}
	switch o.Sort {
	case "wall":
		l.By = analysis.ByWall
	case "cpu":
		l.By = analysis.ByCPU
	case "memory":
		l.By = analysis.ByMemory
	case "time":
		l.By = analysis.ByStart
	}
	return analysis.New(l)
}

// Append appends the summary of a complete analysis.
func Append(b []byte, a *analysis.Analysis, lost uint64, o *Options) []byte {
	s := &show{Analysis: a, Options: o, lost: lost}
	switch o.Form {
	case JSON:
		return s.appendJSON(b)
	case Markdown:
		return s.appendMarkdown(b)
	}
	return s.appendText(b)
}

// show is an analysis that is being shown.
type show struct {
	*analysis.Analysis
	*Options
	lost    uint64
	context bool // show the output of a failure with its context
}

// total returns the last line.
func (s *show) total() string {
	text := cli.Plural(s.Events, "event", "events") + " in " + duration(s.Duration())
	if s.lost > 0 {
		text += ", " + cli.Plural(s.lost, "lost", "lost")
	}
	return text
}

// notes returns what makes the tables doubtful or incomplete, and what to record beside it.
func (s *show) notes() []string {
	list := s.doubts()
	if s.bare() {
		list = append(list, "ptrace-run -e proc records the commands that run, -c the output")
	}
	return list
}

// doubts returns what makes the tables doubtful or incomplete.
func (s *show) doubts() (list []string) {
	add := func(n uint64, one, many, text string) {
		if n > 0 {
			list = append(list, cli.Plural(n, one, many)+text)
		}
	}
	t := s.CommandTotals()
	add(s.Backward, "event is", "events are", " older than the one before: durations may be wrong")
	add(t.Unknown, "process", "processes", " without a recorded start")
	add(t.Ignored, "process", "processes", " not measured: too many at a time")
	add(s.IgnoredSpans(), "span", "spans", " not measured: too many are open")
	return list
}

// bare reports whether all that the log has is one command.
func (s *show) bare() bool {
	_, lines := s.Pauses()
	return len(s.Runs()) > 0 && !s.Marks && s.lost == 0 && len(s.Unsound) == 0 && s.CommandTotals().Commands <= uint64(len(s.Runs())) && lines == 0 &&
		len(s.Spans()) == 0 && len(s.Calls()) == 0 && !slices.ContainsFunc(s.Counts(), func(c *analysis.Count) bool { return c.ID.User() })
}
