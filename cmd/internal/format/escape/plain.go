package escape

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

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

// odd marks the bytes of x that are not plain by their top bits. The lowest mark is exact: only
// bytes of 0x80 and more, which are marked, carry into the next byte.
func odd(x uint64) uint64 {
	printable := x + (0x80-0x20)*ones
	quote := (x ^ '"'*ones) + 0x7f*ones
	slash := (x ^ '\\'*ones) + 0x7f*ones
	return (^(printable & quote & slash) | x | (x + ones)) & highs
}

// hasControl reports whether s has a byte of less than 0x20.
func hasControl(s []byte) bool {
	n := len(s)
	if n < 8 {
		return slices.ContainsFunc(s, func(c byte) bool { return c < 0x20 })
	}
	// A byte of less than 0x20 borrows into its top bit; after it, so may others.
	last := binary.LittleEndian.Uint64(s[n-8:])
	less := (last - 0x20*ones) &^ last
	for i := 0; i < n-8; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		less |= (x - 0x20*ones) &^ x
	}
	return less&highs != 0
}

// AppendPlain appends the plain bytes at the start of s, those that stand for themselves between
// double quotes, and returns how many there are. It copies eight bytes at a time and tests them.
func AppendPlain(b, s []byte) ([]byte, int) {
	n := len(s)
	b = slices.Grow(b, n)
	to := b[len(b) : len(b)+n]
	i := 0
	switch {
	case n >= 8:
		for {
			x := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(to[i:], x)
			if o := odd(x); o != 0 {
				i += bits.TrailingZeros64(o) / 8
				return b[:len(b)+i], i
			}
			if i += 8; i > n-8 {
				if i >= n {
					return b[:len(b)+n], n
				}
				i = n - 8 // the last eight bytes, some of them again
			}
		}
	case n >= 4:
		first, last := binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[n-4:])
		if odd(uint64(first)|uint64(last)<<32) == 0 {
			binary.LittleEndian.PutUint32(to, first)
			binary.LittleEndian.PutUint32(to[n-4:], last)
			return b[:len(b)+n], n
		}
	}
	for ; i < n && plain[s[i]]; i++ {
		to[i] = s[i]
	}
	return b[:len(b)+i], i
}
