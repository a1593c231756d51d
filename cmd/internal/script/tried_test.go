package script_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A test that runs the command uses each option of each command.
func TestEveryOptionIsTried(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(err, len(scripts))
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, path := range append(scripts, tests...) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(b), "\n")...)
	}
	for _, c := range commands {
		var uses []string
		for _, line := range lines {
			if i := strings.Index(line, c.Name); i >= 0 {
				uses = append(uses, line[i:])
			}
		}
		for _, o := range c.AllOptions() {
			used := `[\s"'](--` + regexp.QuoteMeta(o.Long) + `\b`
			if o.Short != 0 {
				used += `|-[A-Za-z]*` + regexp.QuoteMeta(string(rune(o.Short)))
			}
			if o.Hidden || strings.Contains(strings.Join(uses, "\n"), c.Name+" --"+o.Long) {
				continue
			}
			if !regexp.MustCompile(used + `)`).MatchString(strings.Join(uses, "\n")) {
				t.Errorf("no test uses %s --%s", c.Name, o.Long)
			}
		}
	}
}
