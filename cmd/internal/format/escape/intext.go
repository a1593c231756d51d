package escape

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A name is shown so that no two names look alike: of a name, Append and AppendPrintable escape each
// character that is not Visible. Text is shown as it was printed. It may also have blanks of any width,
// characters of private use, and the invisible characters that are part of a visible one beside them.

// inText reports whether the character r of n bytes at s[at:], which is not Visible, is shown in text.
func inText(s []byte, at, n int, r rune) bool {
	switch {
	case r == utf8.RuneError:
		return n > 1 // the character itself, not a byte that is no UTF-8
	case unicode.Is(unicode.Zs, r), r == 0x2800, unicode.Is(unicode.Co, r):
		return true
	case r >= 0x1f000 && r <= 0x1faff: // symbols newer than the tables of this program
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return selects(s[:at], r, s[at+n:])
	case r == zwj:
		before, after := around(s, at, n)
		emoji := isSymbol(before) || before == emojiStyle && selects(s[:at-len(string(before))], before, s[at:])
		return emoji && isSymbol(after) || shapes(before, after) || unicode.Is(viramas, before)
	case r == zwnj:
		return shapes(around(s, at, n))
	}
	return false
}

const (
	zwnj       = 0x200c
	zwj        = 0x200d
	emojiStyle = 0xfe0f // selects the emoji among the variants of a symbol
)

// keycap is the combining mark of the emoji 1️⃣.
const keycap = "\u20e3"

// selects reports whether a variation selector makes sense between two texts: directly behind a
// character that has variants.
func selects(before []byte, selector rune, after []byte) bool {
	base, _ := utf8.DecodeLastRune(before)
	switch {
	case selector == 0xfe0e || selector == emojiStyle:
		return isSymbol(base) || bytes.HasPrefix(after, []byte(keycap)) && (base == '#' || base == '*' || '0' <= base && base <= '9')
	case selector >= 0xe0100, selector <= 0xfe02:
		return unicode.Is(unicode.Han, base) || selector == 0xfe00 && base >= utf8.RuneSelf && unicode.Is(unicode.Sm, base)
	}
	return false
}

// isSymbol reports whether a character is an emoji, or can be shown as one.
func isSymbol(r rune) bool {
	switch r {
	case utf8.RuneError: // also what DecodeRune returns for nothing
		return false
	case 0x203c, 0x2049, 0x2139, 0x3030, 0x303d:
		return true
	}
	return r >= 0x1f000 && r <= 0x1faff || r >= utf8.RuneSelf && unicode.In(r, unicode.So, unicode.Sm)
}

// around returns the characters before and behind the n bytes at s[at:].
func around(s []byte, at, n int) (before, after rune) {
	before, _ = utf8.DecodeLastRune(s[:at])
	after, _ = utf8.DecodeRune(s[at+n:])
	return before, after
}

// cursive are the scripts in which a joiner or a non-joiner between two letters selects their shapes.
var cursive = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// shapes reports whether two characters are of one cursive script.
func shapes(before, after rune) bool {
	for _, script := range cursive {
		if unicode.Is(script, before) {
			return unicode.Is(script, after)
		}
	}
	return false
}

// viramas end a consonant. A joiner behind one selects its shape also at the end of a word.
var viramas = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x094d, Hi: 0x094d, Stride: 1}, {Lo: 0x09cd, Hi: 0x09cd, Stride: 1}, {Lo: 0x0a4d, Hi: 0x0a4d, Stride: 1}, {Lo: 0x0acd, Hi: 0x0acd, Stride: 1},
	{Lo: 0x0b4d, Hi: 0x0b4d, Stride: 1}, {Lo: 0x0bcd, Hi: 0x0bcd, Stride: 1}, {Lo: 0x0c4d, Hi: 0x0c4d, Stride: 1}, {Lo: 0x0ccd, Hi: 0x0ccd, Stride: 1},
	{Lo: 0x0d4d, Hi: 0x0d4d, Stride: 1}, {Lo: 0x0dca, Hi: 0x0dca, Stride: 1},
}}
