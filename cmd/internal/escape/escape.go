// Package escape shows bytes of untrusted programs: it escapes what a terminal would act on or
// not show.
package escape

import "unicode/utf8"

// HexDigits are the digits of hexadecimal numbers.
const HexDigits = "0123456789abcdef"

// Append appends s with every character that is not printable escaped: as \n, \t, \",
// \\, or \xHH for each byte of any other. A terminal shows each character of the result as
// itself: it has no control bytes, no changes of direction and nothing invisible.
func Append[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), true)
}

// AppendPrintable is like Append but leaves quotes and backslashes as they are, for
// text that people read and no program parses.
func AppendPrintable[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), false)
}

// String returns s as Append appends it.
func String(s string) string { return string(Append(nil, s)) }

func appendEscaped(b, s []byte, quotes bool) []byte {
	for {
		var n int
		if b, n = AppendPlain(b, s); n == len(s) {
			return b
		}
		for s = s[n:]; len(s) > 0 && !plain[s[0]]; s = s[n:] {
			switch c := s[0]; {
			case c >= utf8.RuneSelf:
				b, n = appendWide(b, s)
			case !quotes && (c == '"' || c == '\\'):
				b, n = append(b, c), 1
			default:
				b, n = appendEscapedByte(b, c), 1
			}
		}
	}
}

// appendWide appends the visible characters beyond ASCII at the start of s, or else the first
// character, escaped. It returns their length in s.
func appendWide(b, s []byte) ([]byte, int) {
	i := 0
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s[i:])
		if !Visible(r) {
			break
		}
		i += n
	}
	if i > 0 {
		return append(b, s[:i]...), i
	}
	_, n := utf8.DecodeRune(s)
	for _, c := range s[:n] {
		b = AppendHexByte(b, c)
	}
	return b, n
}

func appendEscapedByte(b []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '"', '\\':
		return append(b, '\\', c)
	}
	return AppendHexByte(b, c)
}

// AppendHexByte appends c as \xHH.
func AppendHexByte(b []byte, c byte) []byte {
	return append(b, '\\', 'x', HexDigits[c>>4], HexDigits[c&15])
}

// Byte returns the byte that the start of b stands for, as Append escapes it, and the length of its
// escape sequence, 1 if it is not escaped.
func Byte(b []byte) (c byte, n int) {
	if b[0] != '\\' || len(b) < 2 {
		return b[0], 1
	}
	switch b[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case '"', '\\':
		return b[1], 2
	case 'x':
		if len(b) < 4 {
			break
		}
		if hi, lo := hexDigit(b[2]), hexDigit(b[3]); hi < 16 && lo < 16 {
			return hi<<4 | lo, 4
		}
	}
	return b[0], 1
}

// hexDigit returns the value of a hexadecimal digit, 16 for any other byte.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
