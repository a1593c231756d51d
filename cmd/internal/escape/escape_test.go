package escape

import (
	"testing"
)

func TestAppend(t *testing.T) {
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
		if got := string(Append(nil, tt.in)); got != tt.want {
			t.Errorf("Append(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if got := string(Append(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("Append([]byte(%q)) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if got, want := string(AppendPrintable(nil, "\"a\\b\"\n")), `"a\b"\n`; got != want {
		t.Errorf("AppendPrintable = %s, want %s", got, want)
	}
}
