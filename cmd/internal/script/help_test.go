package script_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Help fits a terminal, names every option, and options are what normalise
// needs them to be: with distinct names, all long ones there.
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
				t.Errorf("%s: option %q (%c) is without a name or twice there", c.Name, o.Long, o.Short)
			}
			long[o.Long], short[o.Short] = true, true
			if !o.Hidden && (o.Help == "" || !strings.Contains(text, "--"+o.Long)) {
				t.Errorf("%s: --%s is not explained", c.Name, o.Long)
			}
		}
	}
}
