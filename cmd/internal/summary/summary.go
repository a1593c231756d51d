// Package summary counts events by type, measures spans, and shows both as tables or JSON.
package summary

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/table"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Summary counts events by type and measures spans: the time from NAME.begin to NAME.end
// with the same key, or without keys in the same process and thread. Its memory does not
// grow with the number of events.
type Summary struct {
	types       map[string]*TypeCount
	spans       map[string]*spanTimes
	open        openSpans
	events      uint64
	first, last int64
}

// maxOpen bounds the number of open spans. Spans beyond it are not measured.
const maxOpen = 1 << 18

type TypeCount struct {
	name   string
	class  string
	count  uint64
	bytes  uint64
	span   string // NAME in NAME.begin and NAME.end
	begins bool
	ends   bool
}

func New() *Summary {
	return &Summary{types: map[string]*TypeCount{}, spans: map[string]*spanTimes{}, open: openSpans{spans: map[spanKey]*openSpan{}, latest: map[threadKey]*openSpan{}}}
}

func (s *Summary) TypeOf(id posixtrace.EventID, name string) *TypeCount {
	t := s.types[name]
	if t == nil {
		t = &TypeCount{name: name, class: typename.Class(id)}
		t.span, t.begins, t.ends = SpanOf(id, name)
		s.types[name] = t
	}
	return t
}

func (s *Summary) Add(src *output.Source, t *TypeCount, rec *posixtrace.Record) {
	if s.events == 0 {
		s.first, s.last = rec.UnixNano, rec.UnixNano
	}
	s.events++
	s.first, s.last = min(s.first, rec.UnixNano), max(s.last, rec.UnixNano)
	t.count++
	t.bytes += uint64(len(rec.Data))
	if !t.begins && !t.ends {
		return
	}
	key := spanKey{src, t.span, rec.PID, rec.TID, 0}
	if rec.Span != 0 {
		key.tid, key.key = 0, rec.Span
	}
	times := s.spans[t.span]
	if times == nil {
		times = &spanTimes{name: t.span, buckets: map[int32]uint64{}}
		s.spans[t.span] = times
	}
	if t.begins {
		s.open.begin(key, rec.UnixNano)
		return
	}
	switch o := s.open.end(key); {
	case o == nil:
		times.unmatched++
	case o.overlaps:
		times.overlaps++
	default:
		times.add(rec.UnixNano - o.at)
	}
}

// Append appends the summary as JSON lines, or as tables of a width (0 for no limit).
func (s *Summary) Append(b []byte, json bool, lost uint64, width int) []byte {
	types := make([]*TypeCount, 0, len(s.types))
	for _, t := range s.types {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b *TypeCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	spans := make([]*spanTimes, 0, len(s.spans))
	for _, t := range s.spans {
		spans = append(spans, t)
	}
	slices.SortFunc(spans, func(a, b *spanTimes) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	open := map[string]uint64{}
	for k, o := range s.open.spans {
		for ; o != nil; o = o.under {
			open[k.name]++
		}
	}
	length := s.last - s.first
	rate := func(n uint64) float64 {
		if length <= 0 {
			return 0
		}
		return float64(n) / (float64(length) / 1e9)
	}
	if json {
		for _, t := range types {
			f := output.Fields{{Key: "kind", Value: "event"}, {Key: "event", Value: t.name}, {Key: "class", Value: t.class},
				{Key: "count", Value: t.count}, {Key: "rate", Value: rate(t.count)}, {Key: "bytes", Value: t.bytes}}
			b = f.AppendJSON(b)
		}
		for _, t := range spans {
			f := output.Fields{{Key: "kind", Value: "span"}, {Key: "span", Value: t.name}, {Key: "count", Value: t.count},
				{Key: "p50_ns", Value: t.quantile(.5)}, {Key: "p95_ns", Value: t.quantile(.95)}, {Key: "max_ns", Value: t.max},
				{Key: "total_ns", Value: t.total}, {Key: "open", Value: open[t.name]}, {Key: "unmatched", Value: t.unmatched},
				{Key: "overlapping", Value: t.overlaps}}
			b = f.AppendJSON(b)
		}
		f := output.Fields{{Key: "kind", Value: "total"}, {Key: "count", Value: s.events}, {Key: "rate", Value: rate(s.events)},
			{Key: "duration_ns", Value: length}, {Key: "lost", Value: lost}}
		return f.AppendJSON(b)
	}
	r := table.Right
	t := table.Table{Header: []string{"event", "count", "rate/s", "bytes"}, Align: []table.Align{table.Left, r, r, r}, Width: width}
	for _, n := range types {
		t.Add(n.name, text(n.count), strconv.FormatFloat(rate(n.count), 'f', 1, 64), text(n.bytes))
	}
	b = t.Append(b)
	if len(spans) > 0 {
		overlaps := slices.ContainsFunc(spans, func(n *spanTimes) bool { return n.overlaps > 0 })
		t = table.Table{Header: []string{"span", "count", "p50", "p95", "max", "total", "open"}, Align: []table.Align{table.Left, r, r, r, r, r, r}, Width: width}
		if overlaps {
			t.Header, t.Align = append(t.Header, "overlapping"), append(t.Align, r)
		}
		for _, n := range spans {
			cells := []string{n.name, "0", "-", "-", "-", "-", text(open[n.name])}
			if n.count > 0 {
				cells = []string{n.name, text(n.count), output.Duration(n.quantile(.5)), output.Duration(n.quantile(.95)),
					output.Duration(n.max), output.Duration(n.total), text(open[n.name])}
			}
			if overlaps {
				cells = append(cells, text(n.overlaps))
			}
			t.Add(cells...)
		}
		b = t.Append(append(b, '\n'))
	}
	b = append(b, '\n')
	b = append(b, cli.Plural(s.events, "event", "events")...)
	b = append(append(b, " in "...), output.Duration(length)...)
	if lost > 0 {
		b = append(append(b, ", "...), cli.Plural(lost, "lost", "lost")...)
	}
	return append(b, '\n')
}

func text(n uint64) string { return strconv.FormatUint(n, 10) }

// AddCount adds the events of one type.
func (s *Summary) AddCount(t *TypeCount, n *posixtrace.TypeCount) {
	if s.events == 0 {
		s.first, s.last = n.First, n.Last
	}
	s.events += n.Events
	s.first, s.last = min(s.first, n.First), max(s.last, n.Last)
	t.count += n.Events
	t.bytes += n.Bytes
}
