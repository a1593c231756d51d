package recipe

import (
	"math"
	"testing"
)

func TestKeys(t *testing.T) {
	seen := map[uint64]bool{}
	for _, n := range []uint32{0, 1, 2, math.MaxUint32} {
		key := Key(n)
		if seen[key] || !IsKey(key) {
			t.Errorf("Key(%d) = %#x: IsKey %v, used before %v", n, key, IsKey(key), seen[key])
		}
		seen[key] = true
	}
	// Other spans have small numbers or random ones, whose upper half differs.
	for _, key := range []uint64{0, 1, math.MaxUint32, Key(0) - 1, Key(math.MaxUint32) + 1, math.MaxUint64} {
		if IsKey(key) {
			t.Errorf("IsKey(%#x)", key)
		}
	}
}
