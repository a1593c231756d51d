package output

import (
	"fmt"
	"strings"
	"testing"
)

func TestNineDigits(t *testing.T) {
	try := func(n uint32) {
		if got, want := string(append9([]byte("x"), n)), fmt.Sprintf("x%09d", n); got != want {
			t.Fatalf("append9(%d) = %s, want %s", n, got, want)
		}
	}
	for n := range uint32(10_000) { // every pair of digits, and four, at each place
		try(n)
		try(n * 10_000)
		try(n*100_000 + 99_999)
		try(999_999_999 - n)
	}
}

// plainRun is tried with every byte at every place among others of all kinds.
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
					if got, same := plainRun(s), plainRun(string(s)); got != want || same != want {
						t.Fatalf("plainRun(%q) = %d, of a string %d, want %d", s, got, same, want)
					}
				}
			}
		}
	}
}
