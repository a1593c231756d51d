package ctf

import (
	"bytes"
	"testing"
)

// The quick test of eight bytes at a time agrees with the exact one, for each byte at each place.
func TestIsText(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				b := bytes.Repeat([]byte{1}, n)
				b[at] = byte(c)
				if got, want := isText(b), c > 0 && c < 0x80; got != want {
					t.Fatalf("isText(%q) = %v", b, got)
				}
			}
		}
	}
	for s, want := range map[string]bool{"": true, "\x7f": true, "Grüße, Welt": true, "Grüße\x00, Welt": false, "Grüße, Welt\xff": false} {
		if got := isText([]byte(s)); got != want {
			t.Errorf("isText(%q) = %v", s, got)
		}
	}
}
