package diff

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text          string
		width, indent int
		want          string
	}{
		{"one two three four five", 0, 2, "one two three four five"},
		{"one two three four five", 23, 2, "one two three four five"},
		{"one two three four five", 22, 2, "one two three four\n  five"},
		{"one two three four five six", 18, 2, "one two three four\n  five six"},
		{"   +1s  one two three four", 24, 8, "   +1s  one two three\n        four"},
		{"a-word-that-is-longer-than-a-line and", 20, 2, "a-word-that-is-longer-than-a-line\n  and"},
		{"größer größer größer", 20, 2, "größer größer größer"},
		{"one two three", 5, 2, "one two three"},
	} {
		if got := wrap(tt.text, tt.width, tt.indent); got != tt.want {
			t.Errorf("%q, %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// On a narrow terminal the sentences of the text are whole.
func TestNarrowText(t *testing.T) {
	d := &compare.Difference{What: compare.Command, How: compare.Slower, Name: "sleep 0.4", Was: "sleep 0.1", In: "sh all", Known: true, Effect: 3e8,
		Time: compare.Change{Old: 1e8, New: 4e8, Beyond: true}}
	r := &compare.Result{Old: []*compare.Run{{Name: "old.trace"}}, New: []*compare.Run{{Name: "new.trace"}},
		Wall: compare.Change{Old: 2e8, New: 5e8, Beyond: true}, Differences: []*compare.Difference{d}, Cause: d}
	wide := string((&show{Result: r, options: &options{top: unsaid}}).append(nil))
	narrow := string((&show{Result: r, options: &options{top: unsaid}, width: 40}).append(nil))
	if a, b := strings.Join(strings.Fields(wide), " "), strings.Join(strings.Fields(narrow), " "); a != b || !strings.Contains(a, ", in sh all") {
		t.Errorf("%s\nin 40 columns:\n%s", wide, narrow)
	}
	for line := range strings.Lines(narrow) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 40 {
			t.Errorf("%q is longer than 40 columns", line)
		}
	}
}
