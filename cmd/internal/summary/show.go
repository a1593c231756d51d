package summary

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/table"
)

// Append appends the summary as JSON lines, or as tables of a width (0 for no limit).
func (s *Summary) Append(b []byte, json bool, lost uint64, width int) []byte {
	if json {
		return s.appendJSON(b, lost)
	}
	b = s.appendTypes(b, width)
	if len(s.spans) > 0 {
		b = s.appendSpans(append(b, '\n'), width)
	}
	b = append(b, '\n')
	b = append(b, cli.Plural(s.events, "event", "events")...)
	b = append(append(b, " in "...), output.Duration(s.last-s.first)...)
	if lost > 0 {
		b = append(append(b, ", "...), cli.Plural(lost, "lost", "lost")...)
	}
	return append(b, '\n')
}

func (s *Summary) appendJSON(b []byte, lost uint64) []byte {
	for _, t := range s.sortedTypes() {
		f := output.Fields{{Key: "kind", Value: "event"}, {Key: "event", Value: t.name}, {Key: "class", Value: t.class},
			{Key: "count", Value: t.count}, {Key: "rate", Value: s.rate(t.count)}, {Key: "bytes", Value: t.bytes}}
		b = f.AppendJSON(b)
	}
	open := s.open.byName()
	for _, t := range s.sortedSpans() {
		f := output.Fields{{Key: "kind", Value: "span"}, {Key: "span", Value: t.name}, {Key: "count", Value: t.count},
			{Key: "p50_ns", Value: t.quantile(.5)}, {Key: "p95_ns", Value: t.quantile(.95)}, {Key: "max_ns", Value: t.max},
			{Key: "total_ns", Value: t.total}, {Key: "open", Value: open[t.name]}, {Key: "unmatched", Value: t.unmatched},
			{Key: "overlapping", Value: t.overlaps}}
		b = f.AppendJSON(b)
	}
	f := output.Fields{{Key: "kind", Value: "total"}, {Key: "count", Value: s.events}, {Key: "rate", Value: s.rate(s.events)},
		{Key: "duration_ns", Value: s.last - s.first}, {Key: "lost", Value: lost}}
	return f.AppendJSON(b)
}

func (s *Summary) appendTypes(b []byte, width int) []byte {
	const r = table.Right
	t := table.Table{Header: []string{"event", "count", "rate/s", "bytes"}, Align: []table.Align{table.Left, r, r, r}, Width: width}
	for _, n := range s.sortedTypes() {
		t.Add(n.name, number(n.count), strconv.FormatFloat(s.rate(n.count), 'f', 1, 64), number(n.bytes))
	}
	return t.Append(b)
}

func (s *Summary) appendSpans(b []byte, width int) []byte {
	const r = table.Right
	t := table.Table{Header: []string{"span", "count", "p50", "p95", "max", "total", "open"}, Align: []table.Align{table.Left, r, r, r, r, r, r}, Width: width}
	spans, open := s.sortedSpans(), s.open.byName()
	overlaps := slices.ContainsFunc(spans, func(n *spanTimes) bool { return n.overlaps > 0 })
	if overlaps {
		t.Header, t.Align = append(t.Header, "overlapping"), append(t.Align, r)
	}
	for _, n := range spans {
		cells := []string{n.name, "0", "-", "-", "-", "-", number(open[n.name])}
		if n.count > 0 {
			cells = []string{n.name, number(n.count), output.Duration(n.quantile(.5)), output.Duration(n.quantile(.95)),
				output.Duration(n.max), output.Duration(n.total), number(open[n.name])}
		}
		if overlaps {
			cells = append(cells, number(n.overlaps))
		}
		t.Add(cells...)
	}
	return t.Append(b)
}

// sortedTypes returns the event types, the most frequent first.
func (s *Summary) sortedTypes() []*TypeCount {
	types := slices.Collect(maps.Values(s.types))
	slices.SortFunc(types, func(a, b *TypeCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	return types
}

// sortedSpans returns the spans, the longest total first.
func (s *Summary) sortedSpans() []*spanTimes {
	spans := slices.Collect(maps.Values(s.spans))
	slices.SortFunc(spans, func(a, b *spanTimes) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	return spans
}

// rate returns n events as a rate per second.
func (s *Summary) rate(n uint64) float64 {
	length := s.last - s.first
	if length <= 0 {
		return 0
	}
	return float64(n) / (float64(length) / 1e9)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
