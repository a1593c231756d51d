package escape

import (
	"html"
	"testing"
)

// HTML is escaped as package html does it, after what a browser does not show.
func TestAppendHTML(t *testing.T) {
	const text = "<a href=\"x\">'&amp;'\x1b[1m\tü\u202e\xff</a>"
	if got, want := string(AppendHTML([]byte("-"), text)), "-"+html.EscapeString(string(AppendPrintable(nil, text))); got != want {
		t.Errorf("AppendHTML: %s, want %s", got, want)
	}
	if got, want := string(AppendHTMLCell([]byte("-"), text)), "-"+html.EscapeString(string(AppendCell(nil, text))); got != want {
		t.Errorf("AppendHTMLCell: %s, want %s", got, want)
	}
	for c := range 0x80 {
		s := string(rune(c))
		if got, want := string(appendHTML(nil, []byte(s))), html.EscapeString(s); c != 0 && got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
