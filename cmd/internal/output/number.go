package output

import (
	"encoding/binary"
	"math"
	"strconv"
)

const second = int64(1e9)

// append9 appends n, which is below 1e9, with nine digits. The last eight are found by
// halving: two numbers of four digits, four of two and eight of one beside each other
// in one word, the first lowest.
func append9(b []byte, n uint32) []byte {
	a := n / 100_000_000
	n -= a * 100_000_000
	h := n / 10_000
	x := uint64(h) | uint64(n-h*10_000)<<32
	q := x * 5243 >> 19 & 0x0000_007f_0000_007f // a hundredth: of numbers up to 9999 it is exact
	x = q | (x-q*100)<<16
	q = x * 103 >> 10 & 0x000f_000f_000f_000f // a tenth, up to 99
	x = q | (x-q*10)<<8
	return binary.LittleEndian.AppendUint64(append(b, byte('0'+a)), x|'0'*ones)
}

// Events follow each other closely: the time of one has all but its last digits from the one
// before. So what precedes those is kept for as long as it is the same.
const (
	span       = 10_000 // nanoseconds that have all but the last digits in common
	lastDigits = 4
)

// within reports whether a time is in the span that begins at from. At the end of time there is
// none, for the one that time begins with would end there.
func within(ns, from int64) bool { return from <= math.MaxInt64-span && ns >= from && ns < from+span }

// append4 appends n, which is below span, with four digits.
func append4(b []byte, n uint32) []byte {
	q := n * 5243 >> 19
	x := q | (n-q*100)<<16
	q = x * 103 >> 10 & 0x000f_000f
	return binary.LittleEndian.AppendUint32(b, q|(x-q*10)<<8|'0'*(ones&0xffff_ffff))
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
	return append9(b, uint32(u%uint64(second)))
}
