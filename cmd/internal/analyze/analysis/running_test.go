package analysis

import (
	"math/rand/v2"
	"testing"
)

// The table has what a map has, whatever is added and removed.
func TestRunning(t *testing.T) {
	for _, keys := range []uint64{1, 5, 100, 5000} {
		var r running
		r.init()
		rnd := rand.New(rand.NewPCG(1, keys))
		want := map[uint64]*process{}
		for range 20_000 {
			k := rnd.Uint64N(keys)
			if keys > 50 && k%3 == 0 {
				k <<= 32
			}
			q := want[k]
			if got := r.of(k); got != q {
				t.Fatalf("%d keys: %d is %p, want %p", keys, k, got, q)
			}
			if q == nil {
				q = &process{key: k}
				want[k] = q
				r.put(q)
			} else {
				delete(want, k)
				r.remove(q)
			}
			if r.count != len(want) {
				t.Fatalf("%d keys: %d processes, want %d", keys, r.count, len(want))
			}
		}
		for k, q := range want {
			if r.of(k) != q {
				t.Fatalf("%d keys: %d is lost", keys, k)
			}
		}
	}
}
