package escape

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
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

// The cached answers are those of visible.
func TestVisible(t *testing.T) {
	for r := rune(-2); r <= unicode.MaxRune+2; r++ {
		if got, want := Visible(r), visible(r); got != want {
			t.Fatalf("Visible(%U) = %v, want %v", r, got, want)
		}
	}
}

// Append does the same for each character wherever it stands.
func TestAppendAnywhere(t *testing.T) {
	for _, c := range []string{"\n", "\"", "\\", "\x7f", "é", "\u202e", "\xff", "日", "\xe6\x97", "\U0001f600", "\U000e0041"} {
		want := string(Append(nil, c))
		for before := range 20 {
			for after := range 20 {
				a, z := strings.Repeat("a", before), strings.Repeat("z", after)
				if got := string(Append([]byte("x"), a+c+c+z)); got != "x"+a+want+want+z {
					t.Fatalf("%q after %d and before %d bytes: %s", c, before, after, got)
				}
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, s := range []string{"1234567", "0123456789abcdef", strings.Repeat("plain text ", 10), "\x1b[1mbold\x1b[0m", strings.Repeat("日本語", 10)} {
		b.Run(fmt.Sprintf("%.12q", s), func(b *testing.B) {
			to, data := make([]byte, 0, 1<<10), []byte(s)
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				to = Append(to[:0], data)
			}
		})
	}
}
