package output

import (
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s with every character that is not printable escaped: as \n, \t, \",
// \\, or \xHH for each byte of any other. A terminal shows each character of the result as
// itself: it has no control bytes, no changes of direction and nothing invisible.
func AppendEscaped[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, s, true)
}

// AppendPrintable is like AppendEscaped but leaves quotes and backslashes as they are, for
// text that people read and no program parses.
func AppendPrintable[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, s, false)
}

// Escape returns s as AppendEscaped appends it.
func Escape(s string) string { return string(AppendEscaped(nil, s)) }

func appendEscaped[T string | []byte](b []byte, s T, quotes bool) []byte {
	done := 0
	for i := plainRun(s); i < len(s); i += plainRun(s[i:]) {
		c := s[i]
		if c >= utf8.RuneSelf {
			if r, n := decodeRune(s[i:]); r != utf8.RuneError && Visible(r) {
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
			_, n = decodeRune(s[i:])
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
	return appendHexByte(b, c)
}

func appendHexByte(b []byte, c byte) []byte {
	return append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
}

// decodeRune decodes the first character of s. For both types it avoids a conversion that
// allocates.
func decodeRune[T string | []byte](s T) (rune, int) {
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
