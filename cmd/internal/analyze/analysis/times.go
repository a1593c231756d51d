package analysis

import (
	"math/bits"
	"slices"
)

// Times measures many durations. Quantiles are exact for a few, and to one percent for more.
type Times struct {
	Count      uint64
	Total, Max int64

	min   int64
	few   [fewTimes]int64 // the first durations
	pages *[pages]*[page]uint64
}

const (
	fewTimes = 8
	fine     = 7 // bits of a duration that select its bucket
	page     = 1 << fine
	pages    = 64 - fine + 1
)

// Add adds a duration, which is not below 0.
func (t *Times) Add(ns int64) {
	if t.Count == 0 || ns < t.min {
		t.min = ns
	}
	t.Max = max(t.Max, ns)
	t.Total = sum(t.Total, ns)
	n := t.Count
	t.Count++
	switch {
	case n < fewTimes:
		t.few[n] = ns
		return
	case n == fewTimes:
		t.pages = new([pages]*[page]uint64)
		for _, v := range t.few {
			t.enter(v)
		}
	}
	t.enter(ns)
}

// enter counts a duration in its bucket.
func (t *Times) enter(ns int64) {
	n := bucket(ns)
	p := t.pages[n>>fine]
	if p == nil {
		p = new([page]uint64)
		t.pages[n>>fine] = p
	}
	p[n&(page-1)]++
}

// bucket returns the bucket of a duration. Durations in one bucket differ by at most 1/128.
func bucket(ns int64) int {
	shift := max(bits.Len64(uint64(ns))-fine-1, 0)
	return shift<<fine + int(ns>>shift)
}

// bucketTop returns the largest duration of a bucket.
func bucketTop(n int) int64 {
	if n < 2<<fine {
		return int64(n)
	}
	shift := n>>fine - 1
	return (int64(n-shift<<fine)+1)<<shift - 1
}

// Quantile returns a duration that the fraction q of all durations does not exceed.
func (t *Times) Quantile(q float64) int64 {
	if t.Count == 0 {
		return 0
	}
	rank := uint64(q*float64(t.Count-1)) + 1
	if t.Count <= fewTimes {
		sorted := t.few
		slices.Sort(sorted[:t.Count])
		return sorted[rank-1]
	}
	for i, p := range t.pages {
		if p == nil {
			continue
		}
		for j, n := range p {
			if n < rank {
				rank -= n
				continue
			}
			return min(max(bucketTop(i<<fine+j), t.min), t.Max)
		}
	}
	return t.Max
}

// Mean returns the mean duration.
func (t *Times) Mean() int64 {
	if t.Count == 0 {
		return 0
	}
	return int64(uint64(t.Total) / t.Count)
}
