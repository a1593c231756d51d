package cli

import (
	"bytes"
	"testing"
)

// A CI runner finds no command in what a guarded writer writes, wherever the writes part it.
func TestGuard(t *testing.T) {
	for _, tt := range []struct{ in, bracket, both string }{
		{"", "", ""},
		{"plain: # ## [ #[ : ::\n", "plain: # ## [ #[ : ::\n", "plain: # ## [ #[ : ::\n"},
		{"a ##[error]b ###[x\n##[", `a ##\x5berror]b ###\x5bx` + "\n" + `##\x5b`, `a ##\x5berror]b ###\x5bx` + "\n" + `##\x5b`},
		{"##[##[[", `##\x5b##\x5b[`, `##\x5b##\x5b[`},
		{"::error::x\n", "::error::x\n", `:\x3aerror::x` + "\n"},
		{":::\n \t::a\n: :b\nx::c\n\n::", ":::\n \t::a\n: :b\nx::c\n\n::", `:\x3a:` + "\n \t" + `:\x3aa` + "\n: :b\nx::c\n\n" + `:\x3a`},
		{":\n:\n:", ":\n:\n:", ":\n:\n:"},
	} {
		for _, colon := range []string{"", `\x3a`} {
			want := tt.bracket
			if colon != "" {
				want = tt.both
			}
			for size := 1; size < 8; size++ {
				var b bytes.Buffer
				w := NewWriter(&b)
				w.Guard(`\x5b`, colon)
				for rest := []byte(tt.in); len(rest) > 0; {
					n := min(size, len(rest))
					w.Write(rest[:n])
					w.Flush()
					rest = rest[n:]
				}
				if got := b.String(); got != want {
					t.Errorf("%q in writes of %d, %q: got %q, want %q", tt.in, size, colon, got, want)
				}
			}
		}
	}
}
