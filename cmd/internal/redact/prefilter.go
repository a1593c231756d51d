package redact

import (
	"regexp/syntax"
	"unicode/utf8"
)

// literal is a text that a match has, of two bytes or more, in ASCII.
type literal struct {
	text string
	fold bool // in either case
}

// maxLiterals bounds the alternatives of one pattern.
const maxLiterals = 16

// needed returns literals of which each match of a pattern has one, or nil if it finds none.
func needed(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if l := needed(sub); l != nil && (best == nil || rarity(l) > rarity(best)) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			l := needed(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// required returns bytes that each match has, beside its literals.
func required(re *syntax.Regexp) (list []byte) {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			list = append(list, required(sub)...)
		}
	case syntax.OpLiteral:
		if len(re.Rune) == 1 && re.Rune[0] < utf8.RuneSelf && re.Flags&syntax.FoldCase == 0 {
			list = append(list, byte(re.Rune[0]))
		}
	}
	return list
}

// literalOf returns the longest part of a literal that matches only itself, or its other case.
func literalOf(re *syntax.Regexp) []literal {
	l := literal{fold: re.Flags&syntax.FoldCase != 0}
	start := 0
	runes := append(re.Rune[:len(re.Rune):len(re.Rune)], utf8.RuneError)
	for i, r := range runes {
		if l.onlyItself(r) {
			continue
		}
		if text := string(runes[start:i]); len(text) > len(l.text) {
			l.text = text
		}
		start = i + 1
	}
	if len(l.text) < 2 {
		return nil
	}
	return []literal{l}
}

// prefixes returns literals of which each match of a pattern begins with one, or nil if it finds none.
func prefixes(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		l := literal{fold: re.Flags&syntax.FoldCase != 0}
		for _, r := range re.Rune {
			if !l.onlyItself(r) {
				break
			}
			l.text += string(r)
		}
		if len(l.text) >= 2 {
			return []literal{l}
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		return prefixes(re.Sub[0])
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			l := prefixes(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// onlyItself reports whether a rune of a literal matches only itself, or its other case. The letters
// k and s have a third case outside of ASCII.
func (l literal) onlyItself(r rune) bool {
	return r < utf8.RuneSelf && !(l.fold && (r|' ' == 'k' || r|' ' == 's'))
}

// beginsAtEnd reports whether b ends with a beginning of the literal that is not all of it.
func (l literal) beginsAtEnd(b []byte) bool {
	for n := min(len(l.text)-1, len(b)); n > 0; n-- {
		if l.same(b[len(b)-n:], n) {
			return true
		}
	}
	return false
}

// same reports whether the first n bytes of b are those of the literal.
func (l literal) same(b []byte, n int) bool {
	for k := range n {
		x, y := l.text[k], b[k]
		if x != y && !(l.fold && x|' ' == y|' ' && 'a' <= x|' ' && x|' ' <= 'z') {
			return false
		}
	}
	return true
}

// rarity estimates how rarely a text has one of some literals.
func rarity(list []literal) int {
	least := 1 << 30
	for _, l := range list {
		_, r := l.pair()
		least = min(least, 4*r+len(l.text))
	}
	return least
}

// pair returns the offset of the two bytes of a literal that a text has most rarely, and how rare
// they are.
func (l literal) pair() (at, rare int) {
	rare = -1
	for i := range len(l.text) - 1 {
		if r := l.rare(l.text[i]) + l.rare(l.text[i+1]); r > rare {
			at, rare = i, r
		}
	}
	return at, rare
}

func (l literal) rare(c byte) int {
	switch {
	case c == ' ' || 'a' <= c && c <= 'z':
		return 0
	case '0' <= c && c <= '9', l.fold && 'A' <= c && c <= 'Z', c == '/', c == '=', c == '.':
		return 1
	}
	return 3
}

// pairs finds the patterns that a text may match.
type pairs struct {
	known [1 << 10]uint64 // a bit for each pair
	at    map[uint16][]at // by both
}

// at is a literal around a pair.
type at struct {
	literal
	offset  int // of the pair
	pattern int
}

func (p *pairs) add(l literal, pattern int) {
	offset, _ := l.pair()
	if p.at == nil {
		p.at = make(map[uint16][]at)
	}
	for _, x := range l.cases(l.text[offset]) {
		for _, y := range l.cases(l.text[offset+1]) {
			key := uint16(x)<<8 | uint16(y)
			p.known[key>>6] |= 1 << (key & 63)
			p.at[key] = append(p.at[key], at{l, offset, pattern})
		}
	}
}

// cases returns a byte of a literal in each case that matches.
func (l literal) cases(c byte) []byte {
	if lower := c | ' '; l.fold && 'a' <= lower && lower <= 'z' {
		return []byte{lower, lower - ' '}
	}
	return []byte{c}
}

// addCodes makes each report texts that a terminal shows otherwise.
func (p *pairs) addCodes() {
	for c := range p.known {
		for bit := range 64 {
			if begins(byte(c<<6 | bit)) {
				p.known[c] |= 1 << bit
			}
		}
	}
}

// each calls f with the patterns that b may match, some of them more than once. coded: b has what
// a terminal does not show, but for a carriage return at its end.
func (p *pairs) each(b []byte, f func(pattern int)) (coded bool) {
	if len(b) < 2 {
		return false
	}
	key := uint16(b[0])
	coded = begins(b[0])
	for i, c := range b[1:] {
		key = key<<8 | uint16(c)
		if p.known[key>>6]>>(key&63)&1 == 0 {
			continue
		}
		if begins(c) && (c != '\r' || i < len(b)-2) {
			coded = true
		}
		for _, a := range p.at[key] {
			if a.in(b, i) {
				f(a.pattern)
			}
		}
	}
	return coded
}

// in reports whether the literal is in b with its pair at i.
func (a *at) in(b []byte, i int) bool {
	from := i - a.offset
	if from < 0 || from+len(a.text) > len(b) {
		return false
	}
	return a.same(b[from:], len(a.text))
}
