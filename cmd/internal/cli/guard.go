package cli

import "bytes"

// A CI runner takes commands from what a job prints: a line that begins with "::", perhaps after
// spaces, and on some runners "##[" anywhere. A guard escapes the last character of both, which
// untrusted text could contain.
type guard struct {
	bracket, colon []byte // what replaces the character; nil for no change

	hashes int // how many # the output ends with, at most 2
	line   lineState
}

// lineState is where in a line the output ends.
type lineState uint8

const (
	inBlank lineState = iota // at its start, or after spaces only
	inColon                  // after the first character that is no space, a colon
	inText                   // elsewhere
)

// Guard makes w escape the bracket of each "##[", and unless colon is "" the second colon of each
// line that begins with "::". The arguments are the escaped characters. w must be empty.
func (w *Writer) Guard(bracket, colon string) {
	w.guard = guard{bracket: []byte(bracket)}
	if colon != "" {
		w.guard.colon = []byte(colon)
	}
}

// Harmless returns text with the bracket of each "##[" escaped.
func Harmless(text []byte) []byte {
	g := guard{bracket: []byte(`\x5b`)}
	return g.brackets(text)
}

// apply returns p with these characters escaped. The result is p, or valid until the next call.
func (g *guard) apply(p []byte) []byte {
	if g.bracket != nil {
		p = g.brackets(p)
	}
	if g.colon != nil {
		p = g.colons(p)
	}
	return p
}

var command = []byte("##[")

func (g *guard) brackets(p []byte) []byte {
	before := g.hashes
	g.hashes = trailing(p, before)
	var out []byte
	for n := before; n > 0; n-- {
		if rest := command[n:]; bytes.HasPrefix(p, rest) {
			out = append(append(out, p[:len(rest)-1]...), g.bracket...)
			p = p[len(rest):]
			break
		}
	}
	for {
		i := bytes.Index(p, command)
		if i < 0 {
			if out == nil {
				return p
			}
			return append(out, p...)
		}
		out = append(append(out, p[:i+len(command)-1]...), g.bracket...)
		p = p[i+len(command):]
	}
}

// trailing returns how many # a text ends with, at most 2, if there were some before it.
func trailing(p []byte, before int) int {
	n := 0
	for n < len(p) && n < 2 && p[len(p)-1-n] == '#' {
		n++
	}
	if n == len(p) {
		n += before
	}
	return min(n, 2)
}

func (g *guard) colons(p []byte) []byte {
	var out []byte
	for i := 0; i < len(p); {
		if g.line == inText {
			n := bytes.IndexByte(p[i:], '\n')
			if n < 0 {
				break
			}
			i += n
		}
		c := p[i]
		i++
		switch {
		case c == '\n':
			g.line = inBlank
		case c == ':' && g.line == inBlank:
			g.line = inColon
		case c == ':' && g.line == inColon:
			g.line = inText
			out = append(append(out, p[:i-1]...), g.colon...)
			p, i = p[i:], 0
		case g.line == inColon || c != ' ' && c != '\t' && c != '\r':
			g.line = inText
		}
	}
	if out == nil {
		return p
	}
	return append(out, p...)
}
