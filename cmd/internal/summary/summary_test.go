package summary

import "testing"

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
	s := spanTimes{buckets: map[int32]uint64{}}
	if got := s.quantile(.5); got != 0 {
		t.Errorf("median of nothing = %d", got)
	}
	for i := int64(1); i <= 100; i++ {
		s.add(i)
	}
	for q, want := range map[float64]int64{0: 1, .5: 50, .95: 95, 1: 100} {
		if got := s.quantile(q); got != want {
			t.Errorf("quantile(%v) of 1..100 = %d, want %d", q, got, want)
		}
	}
	one := spanTimes{buckets: map[int32]uint64{}}
	one.add(1234567)
	if got := one.quantile(.5); got != 1234567 {
		t.Errorf("median of one = %d", got)
	}
}
