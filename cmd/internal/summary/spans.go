package summary

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// spanKey tells open spans apart: by their own key, or where they have none by their thread.
type spanKey struct {
	src      *output.Source // processes of two logs are two, whatever their ids
	name     string
	pid, tid int
	key      uint64
}

// threadKey is a thread of a log or stream.
type threadKey struct {
	src      *output.Source
	pid, tid int
}

// openSpan is a begin event whose end is to come.
type openSpan struct {
	at       int64
	overlaps bool      // it, or its end, may belong to another
	under    *openSpan // one of the same name and thread that began before
	before   *openSpan // those that have begun in this thread, in order
	after    *openSpan
}

// maxCrossed bounds how many spans are marked for one that ends while they are open.
const maxCrossed = 64

// openSpans are the spans that are open. A pair without a key is what it seems only where one
// span of a thread ends before another that began before it, and no two of one name are open
// at a time: else several goroutines, or processes that act for one, have used the thread in turn.
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

// end returns the span that ends, nil if none is open.
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
	unmatched uint64 // ends without a begin
	overlaps  uint64 // pairs that may be none
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

// bucket numbers durations so that those of one bucket differ by at most one
// part in 128.
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

// quantile returns a duration that q of all do not exceed.
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

// SpanOf returns the name of the span that an event type begins or ends.
func SpanOf(id posixtrace.EventID, name string) (span string, begins, ends bool) {
	if !id.User() {
		return "", false, false
	}
	if span, begins = strings.CutSuffix(name, ".begin"); !begins {
		span, ends = strings.CutSuffix(name, ".end")
	}
	return span, begins, ends
}
