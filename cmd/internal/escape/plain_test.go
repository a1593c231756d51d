package escape

import (
	"strings"
	"testing"
)

// PlainRun is correct for every byte at every position, between other bytes of all kinds.
func TestPlainRun(t *testing.T) {
	for _, around := range []string{"a", " ", "~", "\x7f", "\x1f", "\xff", "\x80", "\"", "!", "#", "[", "]", "\\", "\x00"} {
		for n := range 20 {
			for c := range 256 {
				for at := range n {
					s := []byte(strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat(around, n-at-1))
					want := 0
					for want < len(s) && plain[s[want]] {
						want++
					}
					if got, same := PlainRun(s), PlainRun(string(s)); got != want || same != want {
						t.Fatalf("PlainRun(%q) = %d, of a string %d, want %d", s, got, same, want)
					}
				}
			}
		}
	}
}
