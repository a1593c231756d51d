package summary

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// spanKey identifies open spans: by their key, or without a key by their thread.
type spanKey struct {
	src      *output.Source // equal ids in two logs are different processes
	name     string
	pid, tid int
	key      uint64
}

// threadKey identifies a thread of a log or stream.
type threadKey struct {
	src      *output.Source
	pid, tid int
}

// openSpan is a begin event without its end.
type openSpan struct {
	at       int64
	overlaps bool      // it, or its end, may belong to another span
	under    *openSpan // the span of the same name and thread that began before
	before   *openSpan // neighbours in the list of open spans of the thread, in order of begin
	after    *openSpan
}

// maxCrossed bounds how many open spans the end of one span marks as overlapping.
const maxCrossed = 64

// openSpans has the open spans. Begin and end without a key form a pair reliably only if
// the spans of a thread nest and no two of one name are open at a time. Otherwise several
// goroutines, or processes that act for one process, used the thread in turn.
type openSpans struct {
	spans  map[spanKey]*openSpan
	latest map[threadKey]*openSpan
	n      int
}

func (s *openSpans) begin(k spanKey, at int64) {
	if s.n >= maxOpen {
		return
	}
	s.n++
	o := &openSpan{at: at, under: s.spans[k]}
	s.spans[k] = o
	if k.key != 0 {
		return
	}
	if o.under != nil {
		o.overlaps, o.under.overlaps = true, true
	}
	t := threadKey{k.src, k.pid, k.tid}
	if o.before = s.latest[t]; o.before != nil {
		o.before.after = o
	}
	s.latest[t] = o
}

// byName returns the number of open spans of each name.
func (s *openSpans) byName() map[string]uint64 {
	open := map[string]uint64{}
	for k, o := range s.spans {
		for ; o != nil; o = o.under {
			open[k.name]++
		}
	}
	return open
}

// end closes a span and returns it, or nil if none is open.
func (s *openSpans) end(k spanKey) *openSpan {
	o := s.spans[k]
	if o == nil {
		return nil
	}
	s.n--
	if o.under != nil {
		s.spans[k] = o.under
	} else {
		delete(s.spans, k)
	}
	if k.key != 0 {
		return o
	}
	o.overlaps = o.overlaps || o.after != nil
	for a, n := o.after, 0; a != nil && n < maxCrossed; a, n = a.after, n+1 {
		a.overlaps = true
	}
	if o.before != nil {
		o.before.after = o.after
	}
	if t := (threadKey{k.src, k.pid, k.tid}); o.after != nil {
		o.after.before = o.before
	} else if o.before != nil {
		s.latest[t] = o.before
	} else {
		delete(s.latest, t)
	}
	return o
}

type spanTimes struct {
	name      string
	count     uint64
	unmatched uint64 // end events without a begin event
	overlaps  uint64 // pairs that may be wrong
	total     int64
	max       int64
	min       int64
	buckets   map[int32]uint64
}

func (t *spanTimes) add(ns int64) {
	ns = max(ns, 0)
	if t.count == 0 || ns < t.min {
		t.min = ns
	}
	t.count++
	t.total += ns
	t.max = max(t.max, ns)
	t.buckets[bucket(ns)]++
}

// bucket returns the bucket of a duration. Durations in one bucket differ by at most 1/128.
func bucket(ns int64) int32 {
	const fine = 7
	shift := max(bits.Len64(uint64(ns))-fine-1, 0)
	return int32(shift)<<fine + int32(ns>>shift)
}

// bucketTop returns the largest duration of a bucket.
func bucketTop(n int32) int64 {
	const fine = 7
	if n < 2<<fine {
		return int64(n)
	}
	shift := n>>fine - 1
	return (int64(n-shift<<fine)+1)<<shift - 1
}

// quantile returns a duration that the fraction q of all spans does not exceed.
func (t *spanTimes) quantile(q float64) int64 {
	if t.count == 0 {
		return 0
	}
	keys := make([]int32, 0, len(t.buckets))
	for k := range t.buckets {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	rank := uint64(q*float64(t.count-1)) + 1
	for _, k := range keys {
		if n := t.buckets[k]; n < rank {
			rank -= n
			continue
		}
		return min(max(bucketTop(k), t.min), t.max)
	}
	return t.max
}

// SpanOf returns the name of the span that events of this type begin or end.
func SpanOf(id posixtrace.EventID, name string) (span string, begins, ends bool) {
	if !id.User() {
		return "", false, false
	}
	if span, begins = strings.CutSuffix(name, ".begin"); !begins {
		span, ends = strings.CutSuffix(name, ".end")
	}
	return span, begins, ends
}
