package command

import (
	"math/bits"
	"slices"
)

type spanKey struct {
	in       *input // processes of two logs are two, whatever their ids
	name     string
	pid, tid int
}

type spanTimes struct {
	name      string
	count     uint64
	unmatched uint64 // ends without a begin
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
