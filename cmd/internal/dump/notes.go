package dump

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// notes finds what text shows beside events: that a span failed, and on a terminal how long it
// took. The analysis pairs begin and end among the events that are shown; a pair that may be wrong
// has no duration.
type notes struct {
	analysis *analysis.Analysis // nil without durations
	sources  map[*output.Source]*analysis.Source
	found    string
}

func newNotes(durations bool) *notes {
	n := &notes{}
	if durations {
		n.sources = map[*output.Source]*analysis.Source{}
		n.analysis = analysis.New(analysis.Limits{Each: n.ended})
	}
	return n
}

// ended notes the duration of a span that ends now.
func (n *notes) ended(v *analysis.Interval) {
	if v.Kind == analysis.SpanKind && v.State == analysis.Ended && !v.Overlaps {
		n.found = "(" + summary.Duration(v.End-v.Start) + ")"
	}
}

// of returns the note of the next event.
func (n *notes) of(src *output.Source, rec *posixtrace.Record) (note output.Note) {
	if !rec.ID.System() && strings.HasSuffix(src.Name(rec.ID), ".end") {
		note.Failed = analysis.OutcomeOf(rec).Failed
	}
	if n.analysis == nil {
		return note
	}
	s := n.sources[src]
	if s == nil {
		s = n.analysis.NewSource(src.Name)
		n.sources[src] = s
	}
	n.found = ""
	s.Add([]posixtrace.Record{*rec})
	note.Text = n.found
	return note
}
