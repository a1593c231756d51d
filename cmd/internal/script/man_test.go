package script_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Each man page has exactly the options of its command, and says at the start that it is
// not about ptrace(2).
func TestManPages(t *testing.T) {
	item := regexp.MustCompile(`(?m)^\.It Fl .*$`)
	long := regexp.MustCompile(`Fl -([a-z-]+)`)
	short := regexp.MustCompile(`Fl ([A-Za-z])\b`)
	for _, c := range commands {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", "man", c.Name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		var got, want []string
		for _, line := range item.FindAllString(string(page), -1) {
			for _, m := range long.FindAllStringSubmatch(line, -1) {
				got = append(got, m[1])
			}
			for _, m := range short.FindAllStringSubmatch(line, -1) {
				got = append(got, m[1])
			}
		}
		for _, o := range c.AllOptions() {
			if o.Hidden {
				continue
			}
			want = append(want, o.Long)
			if o.Short != 0 {
				want = append(want, string(rune(o.Short)))
			}
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s.1 does not mention %s", c.Name, name)
			}
		}
		for _, name := range got {
			if !slices.Contains(want, name) {
				t.Errorf("%s.1 has an option %s that the command lacks", c.Name, name)
			}
		}
		if !regexp.MustCompile(`\.Xr ptrace 2`).Match(page) {
			t.Errorf("%s.1 does not say that it is not about ptrace(2)", c.Name)
		}
	}
}
