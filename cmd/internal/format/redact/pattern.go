package redact

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// maxPattern bounds the length of a pattern, and maxPatterns their number: a matcher takes time in
// proportion to both.
const (
	maxPattern  = 4096
	maxPatterns = 4096
)

// pattern is a pattern, compiled when a text may match it: most processes see no text that does.
type pattern struct {
	text    string
	tree    *syntax.Regexp
	longest int       // of a match, in bytes, or unbounded
	need    []literal // each match has one of them; nil if that is not known
	also    []byte    // each match has all of them
	from    []literal // each match begins with one of them; nil if that is not known

	compiled sync.Once
	err      error
	re       *regexp.Regexp
	machine  machine
}

var (
	errEmpty  = errors.New("it matches the empty string")
	errLong   = errors.New("it is longer than 4096 bytes")
	errSize   = errors.New("it is too large")
	errMany   = errors.New("there are more than 4096 patterns")
	errNoText = errors.New("this is not text")
	errNoWord = errors.New("there is no such word; there are @tokens and @keep-data")
)

// parse parses a pattern. An error does not show the pattern, which may be a secret.
func parse(text string) (*pattern, error) {
	switch {
	case len(text) > maxPattern:
		return nil, errLong
	case !valid(text):
		return nil, errNoText
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		var fault *syntax.Error
		if errors.As(err, &fault) {
			return nil, errors.New(fault.Code.String())
		}
		return nil, errSize
	}
	shortest, longest := lengths(tree)
	if shortest == 0 {
		return nil, errEmpty
	}
	return &pattern{text: text, tree: tree, longest: longest, need: needed(tree), also: required(tree), from: prefixes(tree)}, nil
}

// compile compiles a pattern.
func compile(text string) (*pattern, error) {
	p, err := parse(text)
	if err == nil {
		err = p.compile()
	}
	return p, err
}

// compile compiles a pattern that is parsed, once.
func (p *pattern) compile() error {
	p.compiled.Do(func() {
		var prog *syntax.Prog
		if p.re, p.err = regexp.Compile(p.text); p.err == nil {
			prog, p.err = syntax.Compile(p.tree.Simplify())
		}
		if p.err != nil {
			p.err = errSize
			return
		}
		p.machine = newMachine(prog, p.longest)
	})
	return p.err
}

// find appends the matches in b.
func (p *pattern) find(spans []span, b []byte) []span {
	for _, c := range p.also {
		if bytes.IndexByte(b, c) < 0 {
			return spans
		}
	}
	if p.compile() != nil {
		return append(spans, span{0, len(b)})
	}
	for _, m := range p.re.FindAllIndex(b, -1) {
		spans = append(spans, span{m[0], m[1]})
	}
	return spans
}

// follow is machine.follow.
func (p *pattern) follow(o *open, b []byte, ends bool) (head, tail int) {
	if p.compile() != nil {
		return 0, 0
	}
	return p.machine.follow(o, b, ends)
}

// unbounded is the length of a match that has no bound.
const unbounded = -1

// lengths returns the least and the greatest length of a match in bytes.
func lengths(re *syntax.Regexp) (shortest, longest int) {
	switch re.Op {
	case syntax.OpNoMatch:
		return 1, 0
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			shortest++
			longest += utf8.UTFMax
			if r < utf8.RuneSelf && re.Flags&syntax.FoldCase == 0 {
				longest -= utf8.UTFMax - 1
			}
		}
		return shortest, longest
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 && re.Rune[n-1] < utf8.RuneSelf {
			return 1, 1
		}
		return 1, utf8.UTFMax
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, utf8.UTFMax
	case syntax.OpCapture:
		return lengths(re.Sub[0])
	case syntax.OpStar:
		return 0, unbounded
	case syntax.OpPlus:
		shortest, _ = lengths(re.Sub[0])
		return shortest, unbounded
	case syntax.OpQuest:
		_, longest = lengths(re.Sub[0])
		return 0, longest
	case syntax.OpRepeat:
		return repeated(re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			s, l := lengths(sub)
			shortest += s
			longest = sum(longest, l)
		}
		return shortest, longest
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			s, l := lengths(sub)
			if i == 0 || s < shortest {
				shortest = s
			}
			if l == unbounded || longest == unbounded {
				longest = unbounded
			} else {
				longest = max(longest, l)
			}
		}
		return shortest, longest
	}
	return 0, 0 // an assertion, or the empty match
}

// repeated returns the lengths of x{n,m}.
func repeated(re *syntax.Regexp) (shortest, longest int) {
	s, l := lengths(re.Sub[0])
	if l == unbounded || re.Max < 0 {
		return s * re.Min, unbounded
	}
	return s * re.Min, l * re.Max
}

func sum(a, b int) int {
	if a == unbounded || b == unbounded {
		return unbounded
	}
	return a + b
}
