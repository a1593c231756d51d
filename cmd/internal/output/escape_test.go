package output

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendEscaped(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain text", "plain text"},
		{"a\nb\tc", `a\nb\tc`},
		{`say "x\y"`, `say \"x\\y\"`},
		{"\x1b[2J\r\x00\x7f", `\x1b[2J\x0d\x00\x7f`},
		{"grüße 日本 €", "grüße 日本 €"},
		{"\u0085\u009b", `\xc2\x85\xc2\x9b`},
		{"a\u202eb\u200bc\u2066", `a\xe2\x80\xaeb\xe2\x80\x8bc\xe2\x81\xa6`},
		{"\ufeffx\u00a0\u2028", `\xef\xbb\xbfx\xc2\xa0\xe2\x80\xa8`},
		{"\xff\xc3", `\xff\xc3`},
		{"\ufffd", `\xef\xbf\xbd`},
		{"\U000e0041\U0001f600", `\xf3\xa0\x81\x81` + "\U0001f600"},
	} {
		if got := string(AppendEscaped(nil, tt.in)); got != tt.want {
			t.Errorf("AppendEscaped(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if got := string(AppendEscaped(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("AppendEscaped([]byte(%q)) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if got, want := printable("\"a\\b\"\n"), `"a\b"\n`; got != want {
		t.Errorf("AppendPrintable = %s, want %s", got, want)
	}
}

func printable(s string) string { return string(AppendPrintable(nil, s)) }

// Every escaped form of a string consists of visible characters, and JSON preserves the data.
func FuzzEscape(f *testing.F) {
	f.Add("a\x1b\u202e\xff\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range []string{Escape(s), printable(s), string(AppendJSONString(nil, s)), string(AppendName(nil, s))} {
			for _, r := range form {
				if !Visible(r) {
					t.Fatalf("%q: %q is in %q", s, r, form)
				}
			}
		}
		if n := string(AppendName(nil, s)); strings.ContainsAny(n, " ,") {
			t.Fatalf("AppendName(%q) = %q is not one word", s, n)
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
