package catalog

import (
	"math"
	"testing"
)

func TestKeys(t *testing.T) {
	seen := map[uint64]bool{}
	for _, n := range []uint32{0, 1, 2, math.MaxUint32} {
		key := RecipeKey(n)
		if seen[key] || !IsRecipeKey(key) {
			t.Errorf("Key(%d) = %#x: IsRecipeKey %v, used before %v", n, key, IsRecipeKey(key), seen[key])
		}
		seen[key] = true
	}
	// Other spans have small numbers or random ones, whose upper half differs.
	for _, key := range []uint64{0, 1, math.MaxUint32, RecipeKey(0) - 1, RecipeKey(math.MaxUint32) + 1, math.MaxUint64} {
		if IsRecipeKey(key) {
			t.Errorf("IsKey(%#x)", key)
		}
	}
}
