// Package redact replaces secrets by "***" in what the commands record and show: the options
// --redact and --redact-file.
//
// pattern.go compiles a pattern, tokens.go has the known forms of tokens, set.go makes a
// Set of several. A Set replaces the matches in a text that is whole, and in lists of texts (words.go). A
// Line (line.go) replaces them in a text that comes in pieces, or whose end is missing: there the beginning
// of a match counts as a match, which machine.go finds. plain.go has a text as a terminal shows it. A
// Filter (filter.go) knows which parts of the data of an event are text, and leaves out the bytes that
// system calls move (moved.go). shared_linux.go keeps the patterns of a stream for the other processes
// that record in it.
//
// Most texts have no match. So a Set first looks for pairs of bytes without which no pattern
// matches (prefilter.go).
package redact

import (
	"cmp"
	"slices"
)

// Mark replaces a match.
const Mark = "***"

// Set is a set of patterns. A nil Set replaces nothing. A Set is safe for concurrent use.
type Set struct {
	list   []*pattern
	always []int // the patterns that the prefilter cannot exclude
	pairs  pairs
	starts starts
	keys   bool     // private keys, which have several lines
	given  []string // what the set was made from
	all    bool     // replace each text as a whole

	keepsData bool
	known     *Set // of the known forms of tokens, if they are in this set
}

// Everything returns the set that replaces each text as a whole, for patterns that cannot be read.
func Everything() *Set { return &Set{all: true} }

// span is a part of a text.
type span struct{ from, to int }

// Bytes returns b with all matches replaced, and their number. Without a match that is b itself.
func (s *Set) Bytes(b []byte) ([]byte, int) {
	if s == nil || len(b) == 0 {
		return b, 0
	}
	return replace(b, s.find(nil, b))
}

// String redacts a string as Bytes redacts bytes.
func (s *Set) String(text string) string {
	b, n := s.Bytes([]byte(text))
	if n == 0 {
		return text
	}
	return string(b)
}

// find appends the matches in b, and those in what a terminal shows of it.
func (s *Set) find(spans []span, b []byte) []span {
	if s.all {
		return append(spans, span{0, len(b)})
	}
	spans, coded := s.search(spans, b)
	if coded {
		var state codes
		p := plainOf(b, &state)
		list, _ := s.search(nil, p.text)
		for _, m := range list {
			spans = append(spans, p.given(m))
		}
	}
	return spans
}

// search appends the matches in b. coded: b has what a terminal does not show.
func (s *Set) search(spans []span, b []byte) (_ []span, coded bool) {
	for _, i := range s.always {
		spans = s.list[i].find(spans, b)
	}
	var room [8]int
	seen := room[:0]
	coded = s.pairs.each(b, func(i int) {
		if !slices.Contains(seen, i) {
			seen = append(seen, i)
			spans = s.list[i].find(spans, b)
		}
	})
	return spans, coded
}

// replace replaces parts of b, and returns how many they are. Parts that overlap are one.
func replace(b []byte, spans []span) ([]byte, int) {
	if len(spans) == 0 {
		return b, 0
	}
	spans = merge(spans)
	out := make([]byte, 0, len(b)+len(spans)*len(Mark))
	at := 0
	for _, part := range spans {
		out = append(append(out, b[at:part.from]...), Mark...)
		at = part.to
	}
	return append(out, b[at:]...), len(spans)
}

// merge sorts parts and makes one of those that overlap.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}
