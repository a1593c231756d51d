package output

import (
	"encoding/binary"
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
