package diff

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
)

// rowIndent is the width of the column with the effect.
const rowIndent = 11

// appendText appends a line for each difference, with its effect on the wall time before it.
func (s *show) appendText(b []byte) []byte {
	b = s.head(b)
	list, left := s.limited()
	if len(list) > 0 {
		b = append(b, '\n')
	}
	for _, d := range list {
		effect := s.effect(d)
		words := append([]piece{said(strings.Repeat(" ", max(rowIndent-2-len([]rune(effect)), 0)) + effect + "  ")}, within(d)...)
		b = s.appendLine(b, s.plain(words), rowIndent, bad(d))
	}
	if len(s.Notes) > 0 || left > 0 {
		b = append(b, '\n')
	}
	return s.foot(b, left)
}

// effect returns what a difference did to the wall time, "" if that is unknown or hardly
// anything.
func (s *show) effect(d *compare.Difference) string {
	if !s.Shows(d) {
		return ""
	}
	return signed(d.Effect)
}
