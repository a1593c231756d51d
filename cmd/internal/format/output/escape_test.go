package output

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

func printable(s string) string { return string(escape.AppendPrintable(nil, s)) }

// Every escaped form of a string consists of visible characters, and JSON preserves the data.
func FuzzEscape(f *testing.F) {
	f.Add("a\x1b\u202e\xff\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range []string{escape.String(s), printable(s), string(AppendJSONString(nil, s)), string(catalog.AppendType(nil, s))} {
			for _, r := range form {
				if !escape.Visible(r) {
					t.Fatalf("%q: %q is in %q", s, r, form)
				}
			}
		}
		if n := string(catalog.AppendType(nil, s)); strings.ContainsAny(n, " ,") {
			t.Fatalf("typename.Append(%q) = %q is not one word", s, n)
		}
		var back string
		if err := json.Unmarshal(AppendJSONString(nil, s), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("JSON of %q decodes to %q", s, back)
		}
	})
}
