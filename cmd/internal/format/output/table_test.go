package output

import (
	"testing"
)

func TestTable(t *testing.T) {
	tab := Table{Header: []string{"event_name", "count"}, Align: []Align{Left, Right}}
	tab.Add("build.begin", "12")
	tab.Add("a\x1b[31m\nb", "3")
	tab.Add(" x", "")
	want := "event_name    count\n" +
		"build.begin      12\n" +
		`a\x1b[31m\nb      3` + "\n" +
		" x\n"
	if got := string(tab.Append(nil)); got != want {
		t.Errorf("Append = \n%s, want \n%s", got, want)
	}
}
