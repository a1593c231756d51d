package escape

import (
	"encoding/binary"
	"math/bits"
)

// digits are those of hexadecimal numbers.
const digits = "0123456789abcdef"

// AppendHexByte appends c as \xHH.
func AppendHexByte(b []byte, c byte) []byte { return append(b, '\\', 'x', digits[c>>4], digits[c&15]) }

// AppendHex appends a number in hexadecimal, without leading zeros.
func AppendHex(b []byte, n uint64) []byte {
	var all [16]byte
	PutHex(&all, n)
	return append(b, all[min(bits.LeadingZeros64(n)/4, 15):]...)
}

// PutHex writes all digits of a number.
func PutHex(to *[16]byte, n uint64) {
	binary.BigEndian.PutUint64(to[:], hex8(uint32(n>>32)))
	binary.BigEndian.PutUint64(to[8:], hex8(uint32(n)))
}

// AppendHex32 appends all eight digits of a number.
func AppendHex32(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint64(b, hex8(n)) }

// hex8 returns the eight digits of a number, the first one in the highest byte.
func hex8(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (x + 6*ones) >> 4 & ones // 1 for each digit from 10 on
	return x + '0'*ones + letters*('a'-'0'-10)
}
