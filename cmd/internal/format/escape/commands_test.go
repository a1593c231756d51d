package escape

import (
	"strings"
	"testing"
)

// A CI system finds no command in what a Guard returns, wherever the parts of the text end, and other
// text stays as it is.
func TestGuard(t *testing.T) {
	for _, tt := range []struct{ in, anywhere, lines string }{
		{"", "", ""},
		{"plain: # ## [ #[ : ::\n", "plain: # ## [ #[ : ::\n", "plain: # ## [ #[ : ::\n"},
		{"a ##[error]b ###[x\n##[", `a ##\x5berror]b ###\x5bx` + "\n" + `##\x5b`, `a ##\x5berror]b ###\x5bx` + "\n" + `##\x5b`},
		{"##[##[[", `##\x5b##\x5b[`, `##\x5b##\x5b[`},
		{"##vso[a]##teamcity[b]##octopus[c]##myget[d]", `##vso\x5ba]##teamcity\x5bb]##octopus\x5bc]##myget\x5bd]`, `##vso\x5ba]##teamcity\x5bb]##octopus\x5bc]##myget\x5bd]`},
		{"#define a(b) x##b[0] ##vs[", "#define a(b) x##b[0] ##vs[", "#define a(b) x##b[0] ##vs["},
		{"x travis_fold:start:a\ntravis_time:end", `x travis_fold\x3astart:a` + "\n" + `travis_time\x3aend`, `x travis_fold\x3astart:a` + "\n" + `travis_time\x3aend`},
		{"section_start:1:a section_end:1:a section_star:", `section_start\x3a1:a section_end\x3a1:a section_star:`, `section_start\x3a1:a section_end\x3a1:a section_star:`},
		{"\x1b[8mha:////\x1b[8m", "\x1b[8mha\\x3a////\x1b[8m", "\x1b[8mha\\x3a////\x1b[8m"},
		{"::error::x\n", "::error::x\n", `:\x3aerror::x` + "\n"},
		{":::\n \t::a\n: :b\nx::c\n\n::", ":::\n \t::a\n: :b\nx::c\n\n::", `:\x3a:` + "\n \t" + `:\x3aa` + "\n: :b\nx::c\n\n" + `:\x3a`},
		{":\n:\n:", ":\n:\n:", ":\n:\n:"},
		{"x\r::y\r\n--- z", "x\r::y\r\n--- z", "x\r::y\r\n---\\x20z"},
		{"--- a/f\n+++ b/f\n~~~ c\n^^^ +++\n", "--- a/f\n+++ b/f\n~~~ c\n^^^ +++\n", `---\x20a/f` + "\n" + `+++\x20b/f` + "\n" + `~~~\x20c` + "\n" + `^^^ ++\x2b` + "\n"},
		{"---\n----  -\n --- a\n-- a\n+++\n^^^ here\n~~~~ \n", "---\n----  -\n --- a\n-- a\n+++\n^^^ here\n~~~~ \n", "---\n----  -\n --- a\n-- a\n+++\n^^^ here\n~~~~ \n"},
		{"\x1b[31m--- a\n\x1b[1;31m-\x1b[0m--\x1b[m a\n\x1b[0m::b", "\x1b[31m--- a\n\x1b[1;31m-\x1b[0m--\x1b[m a\n\x1b[0m::b", "\x1b[31m---\\x20a\n\x1b[1;31m-\x1b[0m--\x1b[m\\x20a\n\x1b[0m:\\x3ab"},
		{"\x1b[38:2::1:2:3m::a\n\x1b[::b\n\x1b[;::c\n", "\x1b[38:2::1:2:3m::a\n\x1b[::b\n\x1b[;::c\n", "\x1b[38:2::1:2:3m:\\x3aa\n\x1b[:\\x3ab\n\x1b[;:\\x3ac\n"},
	} {
		for _, lines := range []bool{false, true} {
			want := tt.anywhere
			if lines {
				want = tt.lines
			}
			for size := 1; size < 20; size++ {
				g := Guard{Notation: Text, Lines: lines}
				var got strings.Builder
				for rest := []byte(tt.in); len(rest) > 0; {
					n := min(size, len(rest))
					got.Write(g.Apply(rest[:n]))
					rest = rest[n:]
				}
				if got.String() != want {
					t.Errorf("%q in parts of %d, lines %v: got %q, want %q", tt.in, size, lines, got.String(), want)
				}
			}
		}
	}
	for n, want := range map[Notation]string{AsIs: "##[", Text: `##\x5b`, JSON: `##\u005b`, XML: "##&#91;"} {
		if got := string((&Guard{Notation: n}).Apply([]byte("##["))); got != want {
			t.Errorf("notation %d: %q, want %q", n, got, want)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	text := []byte(strings.Repeat("2.913001772 4718 posix_trace_event \"some text of a user\"\n", 1000))
	for _, lines := range []bool{false, true} {
		g := Guard{Notation: Text, Lines: lines}
		b.Run(map[bool]string{false: "anywhere", true: "lines"}[lines], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				g.Apply(text)
			}
		})
	}
}
