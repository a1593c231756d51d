package diff

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// show is a result that is being shown.
type show struct {
	*compare.Result
	*options
	width int    // of the terminal, 0 for no limit
	red   string // selects the colour of failures and of what got slower, "" for none
}

func (s *show) append(b []byte) []byte {
	switch s.form {
	case lines:
		return s.appendJSON(b)
	case markdown:
		return s.appendMarkdown(b)
	case table:
		return s.appendTable(b)
	}
	return s.appendText(b)
}

// limited returns the differences to show, and how many are left out.
func (s *show) limited() (list []*compare.Difference, left int) {
	n := len(s.Differences)
	switch {
	case s.top > 0:
		n = min(n, s.top)
	case s.top == unsaid && s.form == page:
		n = min(n, shownOnPage)
	case s.top == unsaid && s.form != lines:
		n = min(n, shown)
	}
	return s.Differences[:n], len(s.Differences) - n
}

// shownOnPage is the number of differences on a page without --top.
const shownOnPage = 300

// bad reports whether a difference is for the worse.
func bad(d *compare.Difference) bool {
	return d.NewFailure() || d.How == compare.Slower || uses(d) && d.How == compare.More || d.Effect > 0 && d.How != compare.Succeeds
}

// widest is the length to which names are cut where there is no terminal.
const widest = 80

// plain returns a sentence as a line of text.
func (s *show) plain(list []piece) string {
	var b strings.Builder
	for _, p := range list {
		if !p.untrusted {
			b.WriteString(p.text)
			continue
		}
		text := summary.Cut(p.text, widest)
		if p.quoted {
			text = `"` + summary.ShownLine(text) + `"`
		} else {
			text = summary.Shown(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// headIndent is how far the second line of a sentence is indented that has no column before it.
const headIndent = 2

// appendLine appends a line, in red if it is bad news. On a terminal it is wrapped.
func (s *show) appendLine(b []byte, text string, indent int, red bool) []byte {
	text = wrap(text, s.width, indent)
	if red && s.red != "" {
		return append(append(append(append(b, s.red...), text...), "\x1b[0m"...), '\n')
	}
	return append(append(b, text...), '\n')
}

// worse reports whether the new side is worse.
func (s *show) worse() bool {
	return s.Differ() && (s.Wall.Beyond && s.Wall.By() > 0 || s.Cause != nil && bad(s.Cause))
}

// head appends the first line and what was compared.
func (s *show) head(b []byte) []byte {
	b = s.appendLine(b, s.plain(s.first()), headIndent, s.worse())
	b = s.appendLine(b, s.plain(s.side("old", s.Old, s.Wall.Old, s.Wall.OldSpread)), headIndent, false)
	return s.appendLine(b, s.plain(s.side("new", s.New, s.Wall.New, s.Wall.NewSpread)), headIndent, false)
}

// foot appends what is left out, and what makes the result doubtful.
func (s *show) foot(b []byte, left int) []byte {
	if left > 0 {
		b = append(b, "... "+cli.Plural(uint64(left), "more", "more")+"\n"...)
	}
	for _, n := range s.Notes {
		b = s.appendLine(b, "note: "+n, headIndent, false)
	}
	return b
}
