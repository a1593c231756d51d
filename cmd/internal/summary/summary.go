// Package summary counts events by type, measures spans, and shows both as tables or JSON.
package summary

import (
	"github.com/posixtrace/posixtrace/cmd/internal/typename"

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
