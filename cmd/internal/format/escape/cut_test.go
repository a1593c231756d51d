package escape

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	marks := strings.Repeat("\u0301", 500)
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"},
		{"aé", 2, "a"}, {"aéé", 3, "aé"}, {"a日本", 3, "a"}, {"a😀", 4, "a"}, {"é", 1, "\xc3"},
		{"ae\u0301b", 2, "a"}, {"ae\u0301b", 3, "a"}, {"ae\u0301b", 4, "ae\u0301"},
		{"a⚠\ufe0fb", 4, "a"}, {"a👩\u200d🔬b", 5, "a"}, {"a👩\u200d🔬b", 8, "a"}, {"a👩\u200d🔬b", 12, "a👩\u200d🔬"}, {"a👋🏽b", 5, "a"},
		{"a🇩🇪🇫🇷", 5, "a"}, {"a🇩🇪🇫🇷", 9, "a🇩🇪"}, {"a🇩🇪🇫🇷", 13, "a🇩🇪"}, {"aᄒ\u1161\u11abb", 4, "a"},
		{"a\x1b[01;31mred", 5, "a"}, {"a\x1b[01;31mred", 9, "a\x1b[01;31m"}, {"a\x1b", 2, "a\x1b"}, {"a\x1b[Kb", 2, "a"}, {"ab\x1b(B", 3, "ab"}, {"\x1b[01;31m", 4, "\x1b[01"},
		{"ab\xff\x80\x80c", 4, "ab\xff\x80"}, {"ab\xc3(", 3, "ab\xc3"}, {"ab\xe6\x97", 3, "ab\xe6"}, {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80"},
		{"e" + marks, 701, "e" + marks[:700]}, {"e" + marks, 702, "e" + marks[:700]}, {"abc\n\u0301", 4, "abc\n"},
	} {
		if got := tt.in[:Cut(tt.in, tt.n)]; got != tt.want {
			t.Errorf("Cut(%q, %d): %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]int{"": 0, "é": 2, "a\xc3": 1, "日\xe6\x97": 3, "\xf0\x9f\x98": 0, "\xff\xc3": 2, "a\x80\x80\x80\x80": 5, "a\xff": 2} {
		if got := Whole([]byte(in)); got != want {
			t.Errorf("Whole(%q) = %d, want %d", in, got, want)
		}
	}
}

// Pieces join to the text, are no longer than the limit and never empty. None begins within a
// character or, if that leaves something, with a mark.
func FuzzCut(f *testing.F) {
	for _, s := range []string{"grüße 日本 e\u0301\u0301 👩\u200d🔬 🇩🇪🇫🇷 \x1b[31mred\x1b[m", strings.Repeat("\u0301", 300), "\xff\x80\xc3", strings.Repeat("🇩", 99)} {
		for _, n := range []uint16{1, 2, 3, 4, 7, 200} {
			f.Add([]byte(s), n)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, limit uint16) {
		n := int(limit%1000) + 1
		for rest := b; len(rest) > 0; {
			size := Cut(rest, n)
			if size < 1 || size > n || len(rest) > n && size < n-maxLookBack-2*utf8.UTFMax {
				t.Fatalf("Cut(%q, %d) = %d", rest, n, size)
			}
			if bounded := Cut(rest[:min(len(rest), n+Cutting)], n); bounded != size {
				t.Fatalf("Cut(%q, %d) = %d, but %d of what it may look at", rest, n, size, bounded)
			}
			piece := rest[:size]
			if rest = rest[size:]; len(rest) == 0 {
				break
			}
			if n >= utf8.UTFMax && utf8.Valid(b) && !(utf8.Valid(piece) && utf8.Valid(rest)) {
				t.Fatalf("limit %d: %q and %q", n, piece, rest)
			}
			r, _ := utf8.DecodeRune(rest)
			if n > 400 && unicode.Is(unicode.M, r) && utf8.Valid(b) {
				if trimmed := strings.TrimRightFunc(string(piece), func(r rune) bool { return unicode.Is(unicode.M, r) || r == zwj || r == zwnj }); len(trimmed) > size-maxLookBack/2 && len(trimmed) > 0 && trimmed[len(trimmed)-1] >= ' ' {
					t.Fatalf("limit %d: %q and %q", n, piece, rest)
				}
			}
		}
	})
}
