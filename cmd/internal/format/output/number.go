package output

import (
	"encoding/binary"
	"math"
	"strconv"
)

const second = int64(1e9)

// bytesOne is a word whose bytes are all 1.
const bytesOne = 0x0101010101010101

// Append9 appends n, which is below 1e9, with nine digits. It computes the last eight by
// halving, in parallel lanes of one word, the first lane lowest: two numbers of four digits,
// then four of two, then eight of one.
func Append9(b []byte, n uint32) []byte {
	a := n / 100_000_000
	n -= a * 100_000_000
	h := n / 10_000
	x := uint64(h) | uint64(n-h*10_000)<<32
	q := x * 5243 >> 19 & 0x0000_007f_0000_007f // a hundredth: of numbers up to 9999 it is exact
	x = q | (x-q*100)<<16
	q = x * 103 >> 10 & 0x000f_000f_000f_000f // a tenth, up to 99
	x = q | (x-q*10)<<8
	return binary.LittleEndian.AppendUint64(append(b, byte('0'+a)), x|'0'*bytesOne)
}

// Events follow each other closely: all but the last digits of their times are equal. So
// forms keep the text of a window and format only the last digits.
const (
	window     = 10_000 // nanoseconds
	lastDigits = 4
)

// within reports whether a time is in the window that starts at from. The last window of
// int64 is unused, since its end would overflow into the first.
func within(ns, from int64) bool {
	return from <= math.MaxInt64-window && ns >= from && ns < from+window
}

// digits4 returns the four digits of n, which is below window, the first one lowest.
func digits4(n uint32) uint32 {
	q := n * 5243 >> 19
	x := q | (n-q*100)<<16
	q = x * 103 >> 10 & 0x000f_000f
	return q | (x-q*10)<<8 | '0'*(bytesOne&0xffff_ffff)
}

// append4 appends n, which is below window, with four digits.
func append4(b []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(b, digits4(n))
}

// splitNano splits a time into seconds and 0 <= nanoseconds < 1e9.
func splitNano(ns int64) (sec int64, nsec uint32) {
	sec = ns / second
	r := ns - sec*second
	if r < 0 {
		sec--
		r += second
	}
	return sec, uint32(r)
}

// AppendSeconds appends a duration in nanoseconds as seconds with nine decimals.
func AppendSeconds(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/uint64(second), 10)
	b = append(b, '.')
	return Append9(b, uint32(u%uint64(second)))
}
