package output

import "strconv"

const second = int64(1e9)

const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// append9 appends n, which is below 1e9, with nine digits.
func append9(b []byte, n uint32) []byte {
	a := n / 100_000_000
	n -= a * 100_000_000
	h := n / 10_000
	l := n - h*10_000
	h1, l1 := h/100, l/100
	h2, l2 := h-h1*100, l-l1*100
	return append(b, byte('0'+a),
		pairs[2*h1], pairs[2*h1+1], pairs[2*h2], pairs[2*h2+1],
		pairs[2*l1], pairs[2*l1+1], pairs[2*l2], pairs[2*l2+1])
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
