package escape

import "math/bits"

// plain marks the ASCII bytes that stand for themselves between double quotes.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return
}()

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// PlainRun returns the number of plain bytes at the start of s. It tests eight bytes at a
// time. Below the first byte that is not plain the subtractions borrow nothing, so the
// lowest mark is exact.
func PlainRun[T string | []byte](s T) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash, del := x^'"'*ones, x^'\\'*ones, x^0x7f*ones
		odd := (x | (x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del) & highs
		if odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for ; i < len(s) && plain[s[i]]; i++ {
	}
	return i
}
