// Package escape shows bytes of untrusted programs: it escapes what a terminal would act on or
// not show.
package escape

import (
	"bytes"
	"unicode/utf8"
)

// Append appends a name with every character that is not Visible escaped: as \n, \t, \",
// \\, or \xHH for each byte of any other. A terminal shows each character of the result as
// itself: it has no control bytes, no changes of direction and nothing invisible.
func Append[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), quoted)
}

// AppendPrintable is like Append but leaves quotes and backslashes as they are, for
// text that people read and no program parses.
func AppendPrintable[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), 0)
}

// AppendText is like Append but for text, which may have more characters than a name: see inText.
// Byte reverses it, too.
func AppendText[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), quoted|text)
}

// AppendLine is like AppendPrintable but for a line of output that Unstyled returned. It leaves tabs
// as they are.
func AppendLine[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), text|line)
}

// AppendCell is like AppendLine but makes each tab a blank, for a line that is shown within another.
func AppendCell[T string | []byte](b []byte, s T) []byte {
	return appendEscaped(b, []byte(s), text|line|blank)
}

// AppendStyled appends a line of output for people, and its colours if they are to be passed. It reports
// whether it has appended any.
func AppendStyled(b, s []byte, colours bool) (to []byte, colored bool) {
	if !colours {
		return AppendLine(b, Unstyled(s)), false
	}
	s = Styled(s)
	for from := 0; ; {
		at, n := nextRendition(s, from)
		b = AppendLine(b, s[from:at])
		if n == 0 {
			return b, colored
		}
		b, colored, from = append(b, s[at:at+n]...), true, at+n
	}
}

// nextRendition returns where the next colour is, and its length, 0 for none.
func nextRendition(s []byte, from int) (at, n int) {
	for at = from; ; at++ {
		i := bytes.IndexByte(s[at:], '\x1b')
		if i < 0 {
			return len(s), 0
		}
		at += i
		if n = Rendition(s[at:]); n > 0 {
			return at, n
		}
	}
}

// String returns s as Append appends it.
func String(s string) string { return string(Append(nil, s)) }

// how says how to show what.
type how uint8

const (
	quoted how = 1 << iota // between quotes, for programs
	text                   // as it was printed
	line                   // a line of output for people
	blank                  // with blanks for tabs
)

func appendEscaped(b, s []byte, h how) []byte {
	for i := 0; ; {
		var n int
		b, n = AppendPlain(b, s[i:])
		if i += n; i == len(s) {
			return b
		}
		for ; i < len(s) && !plain[s[i]]; i += n {
			switch c := s[i]; {
			case c >= utf8.RuneSelf:
				b, n = appendWide(b, s, i, h)
			case h&quoted == 0 && (c == '"' || c == '\\'), h&(line|blank) == line && c == '\t':
				b, n = append(b, c), 1
			case h&blank != 0 && c == '\t':
				b, n = append(b, ' '), 1
			case h&line != 0 && c == '\r':
				b, n = append(b, '\\', 'r'), 1
			default:
				b, n = appendEscapedByte(b, c), 1
			}
		}
		if i == len(s) {
			return b
		}
	}
}

// appendWide appends the characters beyond ASCII at s[at:] that are shown, or else the first
// character, escaped. It returns their length in s.
func appendWide(b, s []byte, at int, h how) ([]byte, int) {
	i := at
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s[i:])
		if !Visible(r) && (h&text == 0 || !inText(s, i, n, r)) {
			break
		}
		i += n
	}
	if i > at {
		return append(b, s[at:i]...), i - at
	}
	_, n := utf8.DecodeRune(s[at:])
	for _, c := range s[at : at+n] {
		b = AppendHexByte(b, c)
	}
	return b, n
}

// Shown returns how many bytes at s[at:] are one character, and whether it is shown as itself in text.
// If it is not, AppendLine escapes it.
func Shown(s []byte, at int) (n int, ok bool) {
	if c := s[at]; c < utf8.RuneSelf {
		return 1, c >= ' ' && c < 0x7f || c == '\t'
	}
	r, n := utf8.DecodeRune(s[at:])
	return n, Visible(r) || inText(s, at, n, r)
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
