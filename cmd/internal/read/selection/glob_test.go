package selection

import (
	"strings"
	"testing"
)

func TestMatchGlob(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "abc", true}, {"?", "", false},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acb", false}, {"*a*b*", "xxaxxbxx", true},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*.begin", "x.begin.begin", true},
		{strings.Repeat("a*", 100) + "b", strings.Repeat("a", 200), false},
		{"*", "a/b", true}, {"?", "/", true}, {"?", "é", true}, {"??", "é", false}, {"?", "\xff", true},
		{"*.[ch]", "a/main.c", true}, {"*.[ch]", "a/main.h", true}, {"*.[ch]", "main.o", false}, {"*.[ch]", "main.", false}, {"*.[ch]pp", "a.hpp", true},
		{"[a-cx]", "b", true}, {"[a-cx]", "x", true}, {"[a-cx]", "d", false}, {"[à-ÿ]", "é", true}, {"[!a-c]", "b", false}, {"[^a-c]", "b", false}, {"[!a-c]", "d", true},
		{"[]]", "]", true}, {"[!]]", "]", false}, {"[]-]x", "-x", true}, {"[a-]", "-", true}, {"[\\]]", "]", true}, {"[\\!a]", "!", true},
		{"[!a]", "/", false}, {"[.-0]", "/", false}, {"a[!b]c", "a/c", false},
		{"[", "[", true}, {"[a", "[a", true}, {"[a", "a", false}, {"[]", "[]", true}, {"[id].js", "[id].js", true}, {"[!a]", "[!a]", true}, {`a\b`, `a\b`, true}, {"[id].js", "i.js", true}, {`\[id\].js`, "[id].js", true}, {`\[id].js`, "i.js", false},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {`a\`, `a\`, true}, {`\\`, `\`, true},
		{"src/**/x.h", "src/x.h", true}, {"src/**/x.h", "src/a/x.h", true}, {"src/**/x.h", "src/a/b/x.h", true}, {"src/**/x.h", "src/ax.h", false},
		{"src/**/x.h", "srcx.h", false}, {"**/x.h", "x.h", true}, {"**/x.h", "/a/x.h", true}, {"**/x.h", "/a/yx.h", false}, {"src/**", "src/a/b", true},
		{"/src/**/**/x.h", "/src/x.h", true}, {"a/**/b*/c", "a/b/d/b/c", true}, {"a/**/*.[ch]", "a/x/y.c", true}, {"a/**/b/**/c", "a/b/x/b/c", true}, {"a/**/b/c", "a/b/x", false},
		{"a**/b", "a/b", true}, {"a**/b", "ab", false}, {"**", "", true}, {"/**/", "/", true},
		{strings.Repeat("**/a*", 50) + "b", strings.Repeat("a/", 200), false}, {strings.Repeat("[a]*", 100) + "b", strings.Repeat("a", 200), false},
	} {
		if got := Match(tt.glob, tt.name); got != tt.want {
			t.Errorf("matchGlob(%.20q, %.20q) = %v, want %v", tt.glob, tt.name, got, tt.want)
		}
	}
}
