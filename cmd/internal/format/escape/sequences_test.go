package escape

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
)

// What changes no character of a line is left out, what the program erased too, and all else that
// begins with ESC stays.
func TestUnstyled(t *testing.T) {
	long := "\x1b[" + strings.Repeat("1", maxSequence-3) + "m"
	for _, tt := range []struct{ line, unstyled, styled string }{
		{"", "", ""},
		{"plain\ttext é", "plain\ttext é", "plain\ttext é"},
		{"\x1b[01m\x1b[Kmain.c:1:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror\x1b[m\x1b[K", "main.c:1: error", "\x1b[01mmain.c:1:\x1b[m \x1b[01;31merror\x1b[m"},
		{"\x1b[38:2::1:2:3mx\x1b[4:3my\x1b(B\x1b[m", "xy", "\x1b[38:2::1:2:3mx\x1b[4:3my\x1b[m"},
		{"\x1b[m\x0f\x1b=\x1b>\x1b)0x", "x", "\x1b[mx"},
		{"a \x1b]8;;http://x/y\alink\x1b]8;;\a b", "a link b", "a link b"},
		{"\x1b]8;id=1;http://x\x1b\\link\x1b]8;;\x1b\\", "link", "link"},
		{"OK\r", "OK", "OK"}, {"OK\x1b[K\r\r", "OK", "OK"}, {"OK\r\x1b[K\r", "", ""}, {"\r\rOK", "OK", "OK"},
		{"10%\r20%\r30%", "10%\r20%\r30%", "10%\r20%\r30%"},
		{"\x1b[1G\x1b[0K-\x1b[1G\x1b[0K\\\x1b[G\x1b[Kdone", "done", "done"},
		{"\x1b[31m10%\r\x1b[2K20%\x1b[m", "20%", "\x1b[31m20%\x1b[m"},
		{"-\x1b[1G\x1b[0K", "", ""},
		{"\x1b[?25l\x1b[?2004hx\x1b[?25h", "x", "x"},
		{"a\x1b[Jb\x1b[1Kc", "abc", "abc"},
		{"\x1b[8mhidden\x1b[1;008;2mx\x1b[38;5;8my\x1b[48;2;8;8;8;1mz", "hiddenxyz", "hiddenx\x1b[38;5;8my\x1b[48;2;8;8;8;1mz"},
		{long + "x", "x", long + "x"},
	} {
		if got := string(Unstyled([]byte(tt.line))); got != tt.unstyled {
			t.Errorf("Unstyled(%q) = %q, want %q", tt.line, got, tt.unstyled)
		}
		if got := string(Styled([]byte(tt.line))); got != tt.styled {
			t.Errorf("Styled(%q) = %q, want %q", tt.line, got, tt.styled)
		}
	}
	for _, s := range []string{"\x1b[2J", "\x1b[H", "\x1b[5A", "\x1b[2G", "\x1b[3K", "\x1b]0;title\a", "\x1b]52;c;eA==\a", "\x1b]8;;x\x1b[2J\a", "\x1b]8;;x\ny\a", "\x1bPq\x1b\\", "\x1b_x\x1b\\", "\x1bc", "\x1b7",
		"\x1b[6n", "\x1b[?1049h", "\x1b[?25;1049h", "\x1b[25h", "\x1b[>4;1m", "\x1b[?4m", "\x1b[1 m", "\x1b[", "\x1b[3", "\x1b", "\x1b(", "\x1b]8;;x", "\x1b[1" + long[2:], "\x1b]8;;" + strings.Repeat("x", maxLink) + "\a", "\x9b2J", "\b", "\a"} {
		if got := string(Styled([]byte("a" + s))); got != "a"+s {
			t.Errorf("Styled(%q) = %q", "a"+s, got)
		}
	}
}

// The cost of a line is linear in its length, whatever is in it.
func TestStripIsLinear(t *testing.T) {
	const n = 1 << 18 // a step for each pair of bytes would take a minute
	for _, s := range []string{"\x1b", "\x1b[", "\x1b[1m", "\x1b[1;", "\x1b]8;;x", "\x1b]8;;", "\r", "a\r", "\r\x1b[K", "\x1b[1m\r\x1b[K", "a\x1b[31mb\r\x1b[K", "\x1b[8;8m", "\u0301", "\U0001f1e9", "\u200d", "⚠\ufe0f", "\xff"} {
		line := []byte(strings.Repeat("\x1b[1m", n/16) + strings.Repeat(s, n/len(s)))
		start := time.Now()
		b, _ := AppendStyled(nil, line, true)
		for rest := line; len(rest) > 0; {
			rest = rest[Cut(rest, 4095):]
		}
		if d := time.Since(start); d > 5*time.Second || len(b) > 20*n {
			t.Errorf("%q: %v, %d bytes", s, d, len(b))
		}
	}
}

// colours matches the only control sequences that may reach a terminal.
var colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// Whatever a program prints, a terminal shows each character of what AppendStyled returns as itself.
func FuzzStyled(f *testing.F) {
	texts := hostile.Texts()
	for i, s := range texts {
		f.Add([]byte(s))
		f.Add([]byte("\x1b[1m" + s + "\x1b[K" + texts[len(texts)-1-i]))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		plain, _ := AppendStyled(nil, line, false)
		if at, found := hostile.Harmful(string(plain), "\t"); found {
			t.Fatalf("%q: at %d of %q", line, at, plain)
		}
		styled, colored := AppendStyled(nil, line, true)
		rest := colours.ReplaceAll(styled, nil)
		if at, found := hostile.Harmful(string(rest), "\t"); found || colored != (len(rest) < len(styled)) {
			t.Fatalf("%q, colours %v: at %d of %q", line, colored, at, styled)
		}
		for _, b := range [][]byte{AppendText(nil, line), AppendCell(nil, line)} {
			if at, found := hostile.Harmful(string(b), ""); found {
				t.Fatalf("%q: at %d of %q", line, at, b)
			}
		}
		if at, found := hostile.Misleading(string(Append(nil, line)), ""); found {
			t.Fatalf("%q: at %d of %q", line, at, Append(nil, line))
		}
		var back []byte
		for b := AppendText(nil, line); len(b) > 0; {
			c, n := Byte(b)
			back, b = append(back, c), b[n:]
		}
		if string(back) != string(line) {
			t.Fatalf("%q becomes %q", line, back)
		}
	})
}
