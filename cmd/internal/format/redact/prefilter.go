package redact

import (
	"math/bits"
	"regexp/syntax"
	"slices"
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

// literalOf returns the part of a literal that a text has most rarely, of those that match only themselves, or their
// other case.
func literalOf(re *syntax.Regexp) []literal {
	l := literal{fold: re.Flags&syntax.FoldCase != 0}
	start := 0
	runes := append(re.Rune[:len(re.Rune):len(re.Rune)], utf8.RuneError)
	for i, r := range runes {
		if l.onlyItself(r) {
			continue
		}
		if part := (literal{string(runes[start:i]), l.fold}); len(part.text) > 1 && (l.text == "" || rarity([]literal{part}) > rarity([]literal{l})) {
			l = part
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
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !assertion(sub) {
				return prefixes(sub)
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
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

// assertion reports whether an expression matches a place, and no text.
func assertion(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}

// onlyItself reports whether a rune of a literal matches only itself, or its other case. The letters
// k and s have a third case outside of ASCII.
func (l literal) onlyItself(r rune) bool {
	return r < utf8.RuneSelf && !(l.fold && (r|' ' == 'k' || r|' ' == 's'))
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
	case c == 'j', c == 'q', c == 'z', '0' <= c && c <= '9', l.fold && 'A' <= c && c <= 'Z', c == '=', c == '.':
		return 1
	case c == ' ' || c == '/' || 'a' <= c && c <= 'z':
		return 0
	case 'A' <= c && c <= 'Z':
		return 2
	}
	return 3
}

// pairs finds the patterns that a text may match.
type pairs struct {
	known [1 << 10]uint64 // a bit for each pair
	first [1 << 10]uint16 // how many pairs are known before those of a word of bits
	at    [][]at          // by known pair, in their order
	of    map[uint16][]at // by both
}

// at is a literal around a pair.
type at struct {
	literal
	offset  int // of the pair
	pattern int
}

func (p *pairs) add(l literal, pattern int) {
	offset, _ := l.pair()
	if p.of == nil {
		p.of = make(map[uint16][]at)
	}
	for _, x := range l.cases(l.text[offset]) {
		for _, y := range l.cases(l.text[offset+1]) {
			key := uint16(x)<<8 | uint16(y)
			p.known[key>>6] |= 1 << (key & 63)
			p.of[key] = append(p.of[key], at{l, offset, pattern})
		}
	}
}

// ready is called behind the last add.
func (p *pairs) ready() {
	for word, set := range p.known {
		p.first[word] = uint16(len(p.at))
		for ; set != 0; set &= set - 1 {
			p.at = append(p.at, p.of[uint16(word<<6|bits.TrailingZeros64(set))])
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
		set := p.known[key>>6]
		if set>>(key&63)&1 == 0 {
			continue
		}
		if begins(c) && (c != '\r' || i < len(b)-2) {
			coded = true
		}
		list := p.at[int(p.first[key>>6])+bits.OnesCount64(set&(1<<(key&63)-1))]
		for k := range list {
			if a := &list[k]; a.in(b, i) {
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

// starts finds where the matches that go on behind the end of a text may have started.
type starts struct {
	pairs               // of the texts that matches begin with
	any   []int         // the patterns whose matches begin with any text
	parts [256][]ending // by their last byte
}

// ending is a beginning of the text that the matches of a pattern begin with.
type ending struct {
	literal
	n       int // its length
	pattern int
}

func (s *starts) add(p *pattern, i int) {
	if p.from == nil {
		s.any = append(s.any, i)
	}
	for _, l := range p.from {
		s.pairs.add(l, i)
		for n := 1; n < len(l.text); n++ {
			for _, c := range l.cases(l.text[n-1]) {
				s.parts[c] = append(s.parts[c], ending{l, n, i})
			}
		}
	}
}

// each calls f with the patterns that may match from some place of b on, some of them more than once.
func (s *starts) each(b []byte, f func(pattern int)) {
	for _, i := range s.any {
		f(i)
	}
	if len(s.at) > 0 {
		s.pairs.each(b, f)
	}
}

// atEnd calls f with the beginnings that are at the end of b.
func (s *starts) atEnd(b []byte, f func(ending)) {
	if len(b) == 0 {
		return
	}
	for _, e := range s.parts[b[len(b)-1]] {
		if e.n <= len(b) && e.same(b[len(b)-e.n:], e.n) {
			f(e)
		}
	}
}

// goesOn reports whether c continues a beginning.
func (e *ending) goesOn(c byte) bool { return slices.Contains(e.cases(e.text[e.n]), c) }

// wholeRunes returns b without the beginning of a character at its end.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}
