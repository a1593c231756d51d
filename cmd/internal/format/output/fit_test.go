package output

import (
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// A table takes no more than its width as long as it can.
func TestWidth(t *testing.T) {
	for width := 0; width < 60; width++ {
		tab := Table{Header: []string{"time", "event", "data"}, Align: []Align{Right}, Width: width}
		tab.Add("0.000000000", "a.quite.long.name.begin", "some data that is \"longer\" than that")
		tab.Add("1.000000000", "日本語日本語日本語日本語", "日本語 日本語 日本語 日本語")
		got := string(tab.Append(nil))
		limit := width
		if width == 0 {
			limit = 200
		}
		for line := range strings.Lines(got) {
			// 11 and twice 8 columns, and the gaps: less cannot be.
			if n := twwidth.Width(strings.TrimSuffix(line, "\n")); n > max(limit, 11+2+8+2+8) {
				t.Errorf("width %d: %d columns in %q", width, n, line)
			}
		}
		if strings.Count(got, "\n") != 3 {
			t.Errorf("width %d: not three lines:\n%s", width, got)
		}
		if whole := strings.Contains(got, "begin") && strings.Contains(got, "than that"); whole != (width == 0) {
			t.Errorf("width %d: cut or not:\n%s", width, got)
		}
	}
}

// What is appended later stands under what came before.
func TestPages(t *testing.T) {
	tab := Table{Header: []string{"pid", "event"}, Align: []Align{Right}, Escaped: true}
	tab.Add("12345", `a\x1b`)
	b := tab.Append(nil)
	tab.Header, tab.Rows = nil, nil
	tab.Add("1", "b")
	want := "  pid  event\n12345  a\\x1b\n    1  b\n"
	if got := string(tab.Append(b)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
