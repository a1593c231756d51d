package hostile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Misleading finds the first character of s that a terminal would act on or not show, or show like
// another one, except newlines and the characters in also. Names are shown without such characters. It
// uses Unicode's tables of properties, not those of the commands.
func Misleading(s, also string) (at int, found bool) {
	for i, r := range s {
		switch {
		case r == '\n' || strings.ContainsRune(also, r) && r != utf8.RuneError:
		case r == utf8.RuneError, !unicode.IsGraphic(r), r != ' ' && unicode.Is(unicode.Zs, r), r == 0x2800,
			unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return i, true
		}
	}
	return 0, false
}

// Harmful finds the first character of s that a terminal would act on, or that is invisible and not a
// part of a visible one, except newlines and the characters in also. Text is shown without such
// characters: it may have blanks of any width, characters of private use, a selector behind a symbol or
// an ideograph, and a joiner between two symbols or two letters of one script that joins its letters.
func Harmful(s, also string) (at int, found bool) {
	for from := 0; ; {
		i, found := Misleading(s[from:], also)
		if !found {
			return 0, false
		}
		at := from + i
		r, n := utf8.DecodeRuneInString(s[at:])
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+n:])
		if n < 2 || !harmless(before, r, after) {
			return at, true
		}
		from = at + n
	}
}

// harmless reports whether text may have a character that a name may not have.
func harmless(before, r, after rune) bool {
	mark := func(r rune) bool {
		return r > 0xff && r != utf8.RuneError && unicode.In(r, unicode.S, unicode.Po, unicode.Pd) || r == 'ℹ' || r == '©' || r == '®' || r == '±' || r == '¬' || r == '×' || r == '÷' || r == '°' || r == '¦'
	}
	switch {
	case r == utf8.RuneError, r == '\u2800', unicode.In(r, unicode.Zs, unicode.Co), r > 0x1efff && r < 0x1fb00:
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return mark(before) || unicode.Is(unicode.Han, before) || after == '\u20e3' && strings.ContainsRune("0123456789#*", before)
	case r == '\u200d' && mark(after):
		return mark(before) || before > 0x1efff && before < 0x1fb00 || before == '\ufe0f'
	case r == '\u200d', r == '\u200c':
		joining := func(r rune) bool {
			return r > 0x5ff && r < 0x1900 && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P)
		}
		return joining(before) && (joining(after) || r == '\u200d' && unicode.Is(unicode.Mn, before))
	}
	return false
}
