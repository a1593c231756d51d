package escape

import (
	"strings"
	"testing"
)

// AppendPlain is correct for every byte at every position, between other bytes of all kinds.
func TestAppendPlain(t *testing.T) {
	for _, around := range []string{"a", " ", "~", "\x7f", "\x1f", "\xff", "\x80", "\"", "!", "#", "[", "]", "\\", "\x00"} {
		for n := range 20 {
			for c := range 256 {
				for at := range n {
					s := []byte(strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat(around, n-at-1))
					want := 0
					for want < len(s) && plain[s[want]] {
						want++
					}
					got, count := AppendPlain([]byte("x"), s)
					if count != want || string(got) != "x"+string(s[:want]) {
						t.Fatalf("AppendPlain(%q) = %q, %d, want %d", s, got, count, want)
					}
				}
			}
		}
	}
}

// hasControl is correct for every byte at every position.
func TestHasControl(t *testing.T) {
	for _, around := range []string{"a", " ", "\x7f", "\xff", "\x80", "!", "\x9f", "\xa0"} {
		for n := range 20 {
			for c := range 256 {
				for at := range n {
					s := []byte(strings.Repeat(around, at) + string([]byte{byte(c)}) + strings.Repeat(around, n-at-1))
					if got, want := hasControl(s), c < 0x20; got != want {
						t.Fatalf("hasControl(%q) = %v", s, got)
					}
				}
			}
		}
	}
}
