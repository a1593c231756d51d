package compare

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// totalKey is a program, or a name of spans.
type totalKey struct {
	kind analysis.Kind
	name string
}

// newTotals returns the totals of all programs and names of spans. If the tree lacks intervals, they
// come from the analysis, which has counted all.
func newTotals(a *analysis.Analysis, t *analysis.Tree, p *profile) map[totalKey]*stat {
	totals := map[totalKey]*stat{}
	of := func(k totalKey) *stat {
		s := totals[k]
		if s == nil {
			s = &stat{}
			totals[k] = s
		}
		return s
	}
	for i := 1; i < len(p.items); i++ {
		l := &p.labels[p.items[i].label]
		of(totalKey{l.kind, l.name}).add(&p.items[i].stat)
	}
	if t.Omitted == 0 && p.ignored == 0 {
		return totals
	}
	for _, g := range a.Programs() {
		s := of(totalKey{analysis.Process, mask(g.Name, nil)})
		s.count, s.failed, s.wall, s.self = g.Commands, g.Failed, g.Wall, g.Self
	}
	spans := map[string]*stat{}
	for _, r := range a.Spans() {
		s := spans[r.Name]
		if s == nil {
			s = &stat{}
			spans[r.Name] = s
		}
		s.add(&stat{count: r.Times.Count, failed: r.Failed, wall: r.Times.Total, self: r.Self})
	}
	for name, s := range spans {
		k := of(totalKey{analysis.SpanKind, mask(name, nil)})
		s.chain = k.chain
		*k = *s
	}
	return totals
}
