// Package escape shows bytes of untrusted programs: it escapes what a terminal would act on or
// not show.
package escape

import (
	"unicode"
	"unicode/utf8"
)

// HexDigits are the digits of hexadecimal numbers.
const HexDigits = "0123456789abcdef"

// Append appends s with every character that is not printable escaped: as \n, \t, \",
// \\, or \xHH for each byte of any other. A terminal shows each character of the result as
// itself: it has no control bytes, no changes of direction and nothing invisible.
func Append[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, s, true)
}

// AppendPrintable is like Append but leaves quotes and backslashes as they are, for
// text that people read and no program parses.
func AppendPrintable[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, s, false)
}

// String returns s as Append appends it.
func String(s string) string { return string(Append(nil, s)) }

func appendEscaped[T string | []byte](b []byte, s T, quotes bool) []byte {
	done := 0
	for i := PlainRun(s); i < len(s); i += PlainRun(s[i:]) {
		c := s[i]
		if c >= utf8.RuneSelf {
			if r, n := DecodeRune(s[i:]); r != utf8.RuneError && Visible(r) {
				i += n
				continue
			}
		} else if !quotes && (c == '"' || c == '\\') {
			i++
			continue
		}
		b = append(b, s[done:i]...)
		n := 1
		if c >= utf8.RuneSelf {
			_, n = DecodeRune(s[i:])
		}
		for ; n > 0; n-- {
			b = appendEscapedByte(b, s[i])
			i++
		}
		done = i
	}
	return append(b, s[done:]...)
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

// DecodeRune decodes the first character of s. For both types it avoids a conversion that
// allocates.
func DecodeRune[T string | []byte](s T) (rune, int) {
	var buf [utf8.UTFMax]byte
	return utf8.DecodeRune(buf[:copy(buf[:], s)])
}

// Visible reports whether a terminal shows a character as a mark of its own, or as the ASCII
// space. Such a character is printable in Unicode's sense, which excludes controls, formats
// such as the bidi overrides, and other spaces. It is none of the letters and marks that are
// printable by class but invisible.
func Visible(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 0x20 && r < 0x7f
	case r == 0x034f, // combining grapheme joiner
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r == 0x2800,                                       // Braille blank
		r >= 0x180b && r <= 0x180f,                        // Mongolian selectors
		r >= 0xfe00 && r <= 0xfe0f,                        // variation selectors
		r >= 0xe0000 && r <= 0xe0fff, r == utf8.RuneError: // tags, more selectors
		return false
	}
	return unicode.IsPrint(r)
}
