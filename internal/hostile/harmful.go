package hostile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Harmful finds the first character of s that a terminal would act on or not show, except
// newlines and the characters in also. It uses Unicode's tables of properties, not those of
// the commands.
func Harmful(s, also string) (at int, found bool) {
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
