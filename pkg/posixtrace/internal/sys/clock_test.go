package sys

import (
	"runtime"
	"testing"
	"time"
)

// The two readings of Pair belong together, and rise.
func TestPairReadingsAgree(t *testing.T) {
	t0, m0 := Pair()
	for range 100 {
		runtime.Gosched()
		t1, m1 := Pair()
		if t1 < t0 || m1 < m0 {
			t.Fatalf("%d, %d after %d, %d", t1, m1, t0, m0)
		}
		t0, m0 = t1, m1
	}
	before := Monotonic()
	time.Sleep(2 * time.Millisecond)
	if d := Monotonic() - before; d < 2e6 || d > 60e9 {
		t.Errorf("2 ms are %d ns", d)
	}
}
