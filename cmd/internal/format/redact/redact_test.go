package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func mustNew(t testing.TB, given ...string) *Set {
	t.Helper()
	s, err := New(given)
	if err != nil {
		t.Fatalf("New(%q): %v", given, err)
	}
	return s
}

func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		patterns, in, want string
		n                  int
	}{
		{"hunter2", "password hunter2!", "password ***!", 1},
		{"hunter2", "hunter", "hunter", 0},
		{"hunter2", "hunter2hunter2", "******", 2},
		{"(?i)bearer ([a-z]+)", "a BEARER x, Bearer y", "a ***, ***", 2},
		{"[0-9]{4}", "a 1234 b 567", "a *** b 567", 1},
		{"abcd,cdef", "xabcdefx", "x***x", 1},
		{"bc,abcd", "xabcdx", "x***x", 1},
		{"ab,ba", "aba", "***", 1},
		{"^x", "xx", "***x", 1},
		{"x$", "xx", "x***", 1},
		{"a.c", "a\xffc", "***", 1},
		{"(?i)ſecret", "SECRET Secret", "*** ***", 2},
		{"(?i)kelvin", "\u212aelvin", "***", 1},
		{"schlüssel", "der Schlüssel, schlüssel", "der Schlüssel, ***", 1},
		{"a\\x00b", "xa\x00by", "x***y", 1},
		{"pass=\\S+", "pass=", "pass=", 0},
	} {
		s := mustNew(t, strings.Split(tt.patterns, ",")...)
		got, n := s.Bytes([]byte(tt.in))
		if string(got) != tt.want || n != tt.n {
			t.Errorf("%q in %q: %q, %d; want %q, %d", tt.patterns, tt.in, got, n, tt.want, tt.n)
		}
	}
}

// A pattern that cannot be used has one reason, which does not show the pattern.
func TestInvalid(t *testing.T) {
	for pattern, reason := range map[string]string{
		"":                          "empty string",
		"hunter*|":                  "empty string",
		"(?:hunter)?":               "empty string",
		"^$":                        "empty string",
		"\\b(?:hunter){0}":          "empty string",
		"hunter(":                   "missing closing )",
		"hunter{2000}":              "invalid repeat count",
		"((hunter{500}){500}){500}": "invalid repeat count",
		"[hunter-a]":                "character class range",
		"hunter(?=x)":               "invalid or unsupported Perl syntax",
		"@hunter":                   "@tokens",
		strings.Repeat("h", 1<<20):  "longer",
		"hunter\xff":                "not text",
		"hunter\x00":                "not text",
	} {
		err := Check(pattern)
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20q: %v, want %q", pattern, err, reason)
		}
	}
}

// The prefilter excludes no text that the pattern matches.
func TestPrefilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"hunter2", "HUNTER2", "ghp_", "xox", "abc", "ABC", "k", "K", "s", "ſ", "\u212a", "://u:p@h", "\n", " ", "12", "é", "\xff", "-"}
	patterns := []string{"hunter2", "(?i)hunter2", "ab|bc|[0-9]{2}", "(?:hunter|abc)+2?", "(?i:ask|sky)", "x(?:ox){1,3}", "a?bc", "(?i)bearer|hunter", "[h]unter", "(?i)[hb]unter", "é1", "abc.*12"}
	for _, p := range append(patterns, tokens...) {
		s := mustNew(t, p)
		if err := s.list[0].compile(); err != nil {
			t.Fatal(err)
		}
		for range 400 {
			var b []byte
			for range r.IntN(12) {
				b = append(b, texts[r.IntN(len(texts))]...)
			}
			var want []span
			for _, m := range s.list[0].re.FindAllIndex(b, -1) {
				want = append(want, span{m[0], m[1]})
			}
			if got := s.find(nil, b); !slices.Equal(got, want) {
				t.Fatalf("%q in %q: %v, want %v", p, b, got, want)
			}
		}
	}
}

// No part of a match beyond the beginning stays visible, wherever a text is cut into pieces; what is
// whole is as without pieces.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	type row struct{ pattern, secret string }
	rows := []row{
		{"hunter2", "hunter2"}, {"h.n.er[0-9]+", "hünter222"}, {"(?i)Straße[0-9]", "straße7"}, {"token=[a-f0-9]{32}", "token=" + strings.Repeat("0af3", 8)},
		{"key:\\s+\\S+ end", "key:   abcdefgh end"}, {"\\bsecretword\\b", "secretword"}, {"€{3}", "€€€"},
	}
	for _, text := range texts(samples) {
		if !strings.HasPrefix(text, "-----") {
			m := mustNew(t, Tokens).find(nil, []byte(text))[0]
			rows = append(rows, row{Tokens, text[m.from:m.to]})
		}
	}
	for _, tt := range rows {
		s := mustNew(t, tt.pattern)
		for range 60 {
			text := strings.Repeat("1234 56. ", r.IntN(4)) + " " + tt.secret + " " + strings.Repeat("78, 9; ", r.IntN(4))
			size := 1 + r.IntN(len(text))
			l := s.NewLine()
			var out []byte
			n := 0
			for b := []byte(text); len(b) > 0; {
				k := min(size, len(b))
				more := Continues
				if k == len(b) {
					more = Ends
				}
				piece, m := l.Piece(b[:k], more)
				out, n, b = append(out, piece...), n+m, b[k:]
			}
			// The bytes of the secret that are left, in order.
			if visible := longestCommon(string(out), tt.secret); visible > 2 && visible > len(tt.secret)/5 || n == 0 {
				t.Fatalf("%q in pieces of %d: %q shows %d bytes of %q, %d matches", text, size, out, visible, tt.secret, n)
			}
			if !l.Idle() {
				t.Fatalf("%q: a match is open behind the end", text)
			}
		}
	}
}

// longestCommon returns the length of the longest part of secret that text has.
func longestCommon(text, secret string) (n int) {
	for i := range secret {
		for n < len(secret)-i && strings.Contains(text, secret[i:i+n+1]) {
			n++
		}
	}
	return n
}

// A text in pieces that holds no match, and nothing like the beginning of one, stays as it is.
func TestPiecesUntouched(t *testing.T) {
	s := mustNew(t, Tokens, "hunter2")
	text := []byte("0123 5678. 0123 5678! ")
	for size := 1; size < len(text); size++ {
		l := s.NewLine()
		var out []byte
		for at := 0; at < len(text); at += size {
			b, _ := l.Piece(text[at:min(at+size, len(text))], Continues)
			out = append(out, b...)
		}
		if string(out) != string(text) {
			t.Errorf("in pieces of %d: %q", size, out)
		}
	}
}

// Patterns of which no match can start in a piece are left out of its simulation. That changes nothing.
func TestPiecesStarted(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	given := []string{Tokens, "hunter2", "(?i)hunter[0-9]+", "(?:hunt|(?i:gather))er", "(?i)ask+", "abc|abd.*e", "(abc)+d", "a+bc", "^xyz", "(?:xyz|x)y", "\\bword\\b", "é1", "ab(?:é|c)"}
	parts := []string{"hunter2", "HUNTER", "hunt", "Gather", "er", "aſk", "ask", "K", "\u212a", "abc", "ab", "a", "xyz", "word", " ", "\n", "\xc3", "\xa9", "é", "\xff", "-", "12"}
	for _, text := range texts(samples) {
		parts = append(parts, text, text[:len(text)/2], text[:3])
	}
	quick, slow := mustNew(t, given...), &Set{keys: true}
	begins := 0
	for _, p := range quick.list {
		if p.from != nil {
			begins++
		}
		p, err := parse(p.text) // sets share the known forms
		if err != nil {
			t.Fatal(err)
		}
		p.from = nil
		slow.list = append(slow.list, p)
	}
	slow.ready()
	if all := len(quick.list); begins < all/2 {
		t.Errorf("the beginnings of %d patterns of %d are known", begins, all)
	}
	for range 20_000 {
		x, y := quick.NewLine(), slow.NewLine()
		var pieces []string
		for range 1 + r.IntN(4) {
			var b []byte
			for range r.IntN(4) {
				part := parts[r.IntN(len(parts))]
				b = append(b, part[:len(part)-r.IntN(2)*r.IntN(len(part))]...)
			}
			more := More(r.IntN(3))
			pieces = append(pieces, fmt.Sprintf("%q %d", b, more))
			got, n := x.Next(slices.Clone(b), more)
			want, m := y.Next(slices.Clone(b), more)
			if !bytes.Equal(got, want) || n != m || x.Idle() != y.Idle() {
				t.Fatalf("seed %d: %v: %q (%d), want %q (%d)", seed, pieces, got, n, want, m)
			}
		}
	}
}

// A line that a carriage return ends may go on in the next one. A beginning that may be the end of an ordinary text
// stays, if it is short.
func TestReturns(t *testing.T) {
	for _, tt := range []struct{ first, second, want1, want2 string }{
		{"xhun", "ter2y", "xhun", "***y"},
		{"xhunt", "er2y", "x***", "***y"},
		{"xhunt ", "er2y", "x*** ", "***y"},
		{"xhunt", "ing", "x***", "ing"},
		{"push", "ed", "push", "ed"},
		{"10% h", "20% h", "10% h", "20% h"},
		{"x\x1b[1mhunt\x1b[m ", "\x1b[1mer2\x1b[my", "x\x1b[1m***\x1b[m ", "\x1b[1m***\x1b[my"},
	} {
		l := mustNew(t, "hunter2").NewLine()
		a, _ := l.Next([]byte(tt.first), Returns)
		b, _ := l.Next([]byte(tt.second), Ends)
		if string(a) != tt.want1 || string(b) != tt.want2 || !l.Idle() {
			t.Errorf("%q, %q: %q, %q; want %q, %q", tt.first, tt.second, a, b, tt.want1, tt.want2)
		}
	}
}

// A private key is hidden line by line. A key without an end hides a bounded number of lines.
func TestKeyInLines(t *testing.T) {
	l := mustNew(t, Tokens).NewLine()
	var out []string
	for _, line := range []string{"a", "-----BEGIN EC PRIVATE KEY-----", "MHcCAQEE", "xyz==", "-----END EC PRIVATE KEY-----", "b"} {
		b, _ := l.Next([]byte(line), Ends)
		out = append(out, string(b))
	}
	if want := []string{"a", Mark, Mark, Mark, Mark, "b"}; !slices.Equal(out, want) || !l.Idle() {
		t.Errorf("%q, want %q", out, want)
	}
	l.Next([]byte("-----BEGIN PRIVATE KEY-----"), Ends)
	hidden := 0
	for {
		if b, _ := l.Next([]byte("text"), Ends); string(b) == "text" {
			break
		}
		hidden++
	}
	if hidden != keyLines {
		t.Errorf("a key without an end hides %d lines, want %d", hidden, keyLines)
	}
}

// What stands for a pattern on a command line is hidden, however it is given.
func TestCommandLine(t *testing.T) {
	s := mustNew(t, `\Qa+b\E[0-9]`, "hunter2", Tokens)
	argv := []string{"ptrace-run", `--redact=\Qa+b\E[0-9]`, "--red", "hunter2", "--redact=@tokens", "--", "sh", "-c", `echo a+b7; ptrace-run --redact='\Qa+b\E[0-9]' x`}
	want := []string{"ptrace-run", "--redact=***", "--red", "***", "--redact=@tokens", "--", "sh", "-c", "echo ***; ptrace-run --redact='***' x"}
	if got := s.CommandLine(argv); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzPieces compares a text in two pieces with the same text in one: each byte of a match is hidden,
// unless an assertion decided at the cut.
func FuzzPieces(f *testing.F) {
	f.Add("hunter[0-9]+", "x hunter22 y", 7)
	f.Add("ü+x", "aüüüx", 2)
	f.Add("(a|ab)(c|bcd)", "xabcdx", 3)
	f.Add("0", "0\b0", 2)
	f.Add("0", "1\b0", 2)
	f.Add("ab", "ax\bb", 3)
	f.Add("000", "00\x1b00", 3)
	f.Add("ab", "a0\bb", 2)
	f.Add("00.", "0000100\xf0", 7)
	f.Add("00", "000\x1b00", 3)
	f.Add("00", "0 \r0", 2)
	f.Fuzz(func(t *testing.T, pattern, text string, cut int) {
		if strings.ContainsAny(pattern, "^$\\") {
			return
		}
		s, err := New([]string{pattern})
		if err != nil || len(pattern) > 100 || len(text) > 1000 || len(text) == 0 {
			return
		}
		cut = max(0, min(cut, len(text)))
		l := s.NewLine()
		a, _ := l.Piece([]byte(text[:cut]), Continues)
		b, _ := l.Piece([]byte(text[cut:]), Ends)
		// A match across the cut hides all up to the cut, and all from it on.
		given, _ := s.search(nil, []byte(text))
		for _, sp := range s.find(nil, []byte(text)) {
			if sp.from >= cut || sp.to <= cut {
				continue
			}
			before := strings.HasSuffix(strings.TrimRight(string(a), "\b"), Mark)
			behind := strings.HasPrefix(string(b), Mark)
			if !slices.Contains(given, sp) {
				// What backspaces before the cut strike out, and the rest of an escape sequence behind it, is not shown,
				// and belongs to no match.
				var state codes
				shown := func(text string) string { return string(plainOf([]byte(text), &state).text) }
				before = before || !shownIn(text, sp.from, cut) || strings.HasSuffix(shown(string(a)), Mark)
				state = inText
				shown(text[:cut])
				rest := plainOf([]byte(text[cut:]), &state)
				mark := strings.Index(string(b), Mark)
				behind = behind || mark >= 0 && len(rest.from) > 0 && mark <= rest.from[0]
				// A backspace behind the cut may strike out what is before it, and a carriage return the space of a line
				// editor: that is out by then.
				before = before || rest.back || text[cut-1] == ' ' && text[cut] == '\r'
			}
			if !before || !behind {
				t.Errorf("%q in %q|%q: %q|%q", pattern, text[:cut], text[cut:], a, b)
			}
		}
	})
}

// shownIn reports whether a terminal shows a character of text[from:to] whose overstrikes are in it, too.
func shownIn(text string, from, to int) bool {
	var state codes
	p := plainOf([]byte(text), &state)
	for i := range p.text {
		if p.from[i] >= from && p.to[i] <= to {
			return true
		}
	}
	return false
}

func BenchmarkBytes(b *testing.B) {
	line := []byte("  CC      drivers/net/ethernet/intel/ice/ice_main.o  [M]  https://example.com/x")
	for _, tt := range []struct {
		name  string
		given []string
	}{{"literal", []string{"hunter2"}}, {"tokens", []string{Tokens}}, {"digits", []string{"[0-9]{16}"}}} {
		s := mustNew(b, tt.given...)
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				s.Bytes(line)
			}
		})
	}
	tokens := mustNew(b, Tokens)
	b.Run("line", func(b *testing.B) {
		l := tokens.NewLine()
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			l.Next(line, Ends)
		}
	})
	b.Run("cut", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tokens.NewLine().Piece(line, Continues)
		}
	})
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("secret%dvalue", i*i*i))
	}
	s := mustNew(b, many...)
	b.Run("thousand", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			s.Bytes(line)
		}
	})
}

// Each ptrace-event that records in a stream with patterns makes their set.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New([]string{Tokens}); err != nil {
			b.Fatal(err)
		}
	}
}
