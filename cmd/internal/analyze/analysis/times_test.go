package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBuckets(t *testing.T) {
	for _, ns := range []int64{0, 1, 127, 128, 129, 255, 256, 257, 511, 512, 1000, 123456, 1 << 20, 1<<40 + 12345, 1<<63 - 1} {
		n := bucket(ns)
		top := bucketTop(n)
		if top < ns || top-ns > ns/128 {
			t.Errorf("bucket(%d) = %d with top %d", ns, n, top)
		}
		if top < 1<<63-1 && bucket(top+1) != n+1 {
			t.Errorf("bucket(%d) = %d, want %d", top+1, bucket(top+1), n+1)
		}
	}
}

func TestQuantile(t *testing.T) {
	var s Times
	if got := s.Quantile(.5); got != 0 {
		t.Errorf("median of nothing = %d", got)
	}
	for i := int64(1); i <= 100; i++ {
		s.Add(i)
	}
	for q, want := range map[float64]int64{0: 1, .5: 50, .95: 95, 1: 100} {
		if got := s.Quantile(q); got != want {
			t.Errorf("quantile(%v) of 1..100 = %d, want %d", q, got, want)
		}
	}
	if s.Mean() != 50 || s.Total != 5050 || s.Max != 100 {
		t.Errorf("mean %d, total %d, max %d", s.Mean(), s.Total, s.Max)
	}
	// The quantiles of a few are exact, those of many to one percent.
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 40; n++ {
		var s Times
		var all []int64
		for range n {
			v := rng.Int64N(1 << (1 + rng.IntN(62)))
			s.Add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		for _, q := range []float64{0, .1, .5, .95, 1} {
			want := all[int(q*float64(n-1))]
			if got := s.Quantile(q); got < want || got-want > want/100 || n <= fewTimes && got != want {
				t.Errorf("quantile(%v) of %d = %d, want %d", q, n, got, want)
			}
		}
	}
}

// The entries kept are the first of all in order of their keys.
func TestTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, keep := range []int{0, 1, 2, 7, 100} {
		top := top[int]{keep: keep}
		var all [][2]int
		for i := range 200 {
			key := rng.IntN(20)
			all = append(all, [2]int{key, i})
			if slot := top.add(int64(key)); slot != nil {
				*slot = i
			}
		}
		slices.SortStableFunc(all, func(a, b [2]int) int { return b[0] - a[0] })
		got := top.sorted()
		if len(got) != min(keep, len(all)) {
			t.Fatalf("kept %d of %d", len(got), keep)
		}
		for i, v := range got {
			if *v != all[i][1] {
				t.Fatalf("keep %d: entry %d is %d, want %d", keep, i, *v, all[i][1])
			}
		}
	}
}
