package report

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// column is a column of numbers for the page: base64 of variable-length numbers, or one number if
// all are equal.
type column struct {
	packed []byte
	n      int
	first  uint64
	varied bool
}

// maxNumber is the greatest number that JavaScript holds exactly.
const maxNumber = 1<<53 - 1

func (c *column) add(v uint64) {
	v = min(v, maxNumber)
	if c.n == 0 {
		c.first = v
	}
	c.varied = c.varied || v != c.first
	c.n++
	c.packed = binary.AppendUvarint(c.packed, v)
}

func (c *column) appendJSON(b []byte) []byte {
	if !c.varied {
		return strconv.AppendUint(b, c.first, 10)
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), c.packed), '"')
}

// named is a column as a member of an object.
type named struct {
	key string
	*column
}

// beginColumns appends the start of an object, with members that are columns of one length.
func beginColumns(b []byte, key string, n int, columns ...named) []byte {
	b = strconv.AppendInt(append(append(append(b, '"'), key...), `":{"n":`...), int64(n), 10)
	for _, c := range columns {
		b = c.appendJSON(append(append(append(b, `,"`...), c.key...), `":`...))
	}
	return b
}

// relative returns a time in nanoseconds since the start of the run.
func relative(at, from int64) uint64 {
	if at <= from {
		return 0
	}
	return min(uint64(at)-uint64(from), maxNumber)
}

// difference returns how far a time is behind the one before it. A time that is earlier counts as
// the same.
func difference(before *uint64, at uint64) uint64 {
	d := at - min(at, *before)
	*before += d
	return d
}
