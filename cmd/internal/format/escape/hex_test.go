package escape

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestHex(t *testing.T) {
	for i := range 20_000 {
		n := rand.Uint64() >> rand.UintN(64)
		if i <= 64 {
			n = 1<<i - 1
		}
		var all [16]byte
		PutHex(&all, n)
		got := fmt.Sprintf("%s %s %s", AppendHex([]byte("x"), n), all, AppendHex32([]byte("x"), uint32(n)))
		if want := fmt.Sprintf("x%x %016x x%08x", n, n, uint32(n)); got != want {
			t.Fatalf("%d in hexadecimal: %s, want %s", n, got, want)
		}
	}
}
