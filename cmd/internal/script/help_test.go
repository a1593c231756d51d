package script_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Help fits a screen of 50 lines of 80 columns, names every option and ends with
// examples. Options have distinct names, all of them a long one.
func TestHelp(t *testing.T) {
	for _, c := range commands {
		var b bytes.Buffer
		if err := c.WriteHelp(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if !strings.HasPrefix(text, "Usage: "+c.Name+" ") {
			t.Errorf("%s: help begins %.40q", c.Name, text)
		}
		if n := strings.Count(text, "\n"); n > 50 {
			t.Errorf("%s: help has %d lines, want at most 50", c.Name, n)
		}
		if _, examples, ok := strings.Cut(text, "\n\nExamples: "); !ok || !strings.HasPrefix(examples, c.Name+" ") && !strings.Contains(examples, "$("+c.Name+" ") {
			t.Errorf("%s: help does not end with examples", c.Name)
		}
		for _, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: help has a line of more than 80 columns: %s", c.Name, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: help has a line that ends in space: %q", c.Name, line)
			}
		}
		long, short := map[string]bool{}, map[byte]bool{}
		for _, o := range c.AllOptions() {
			if o.Long == "" || long[o.Long] || o.Short != 0 && short[o.Short] {
				t.Errorf("%s: option %q (%c) has no long name or is a duplicate", c.Name, o.Long, o.Short)
			}
			long[o.Long], short[o.Short] = true, true
			if !o.Hidden && (o.Help == "" || !strings.Contains(text, "--"+o.Long)) {
				t.Errorf("%s: --%s has no description", c.Name, o.Long)
			}
		}
	}
}
