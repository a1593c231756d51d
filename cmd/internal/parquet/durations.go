package parquet

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// durations finds how long spans and commands took, for the events that end them.
type durations struct {
	found  analysis.Interval
	source *analysis.Source
	one    [1]posixtrace.Record
	timed  [4096]int8 // by type: 1 if its events begin or end something, -1 if not, 0 if unknown
}

func (d *durations) init(name func(posixtrace.EventID) string) {
	a := analysis.New(analysis.Limits{Each: func(iv *analysis.Interval) { d.found = *iv }})
	d.source = a.NewSource(name)
}

// duration returns how long the span or command took that an event ends. It is unknown if the event
// may end another one.
func (l *Log) duration(rec *posixtrace.Record) (ns int64, ok bool) {
	d := &l.durations
	if int(rec.ID) >= len(d.timed) {
		return 0, false
	}
	kind := d.timed[rec.ID]
	if kind < 0 {
		return 0, false
	}
	if kind == 0 {
		kind = -1
		switch {
		case rec.ID == posixtrace.EventProcFork, rec.ID == posixtrace.EventProcExec, rec.ID == posixtrace.EventProcExit:
			kind = 1
		case rec.ID.User() && !analysis.Plain(rec.ID, rec.Name):
			kind = 1
		}
		if rec.Name != "" || !rec.ID.User() {
			d.timed[rec.ID] = kind
		}
		if kind < 0 {
			return 0, false
		}
	}
	d.found = analysis.Interval{}
	d.one[0] = *rec
	d.source.Add(d.one[:])
	if iv := &d.found; iv.ID != 0 && !iv.Overlaps && iv.State == analysis.Ended && (iv.Kind == analysis.SpanKind || rec.ID == posixtrace.EventProcExit) {
		return iv.End - iv.Start, true
	}
	return 0, false
}
