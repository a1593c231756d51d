package diff

import (
	"strings"
	"unicode/utf8"
)

// narrowest is the least room beside the indent in which wrap wraps.
const narrowest = 16

// wrap breaks a line at spaces where it is longer than the width of a terminal, 0 for none. What
// follows is indented.
func wrap(text string, width, indent int) string {
	if width < indent+narrowest || utf8.RuneCountInString(text) <= width {
		return text
	}
	var b strings.Builder
	column, fresh := 0, true // fresh: the line has no word
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case !fresh && column+1+n > width:
			b.WriteByte('\n')
			b.WriteString(strings.Repeat(" ", indent))
			column, fresh = indent, true
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
		fresh = fresh && n == 0
	}
	return b.String()
}
