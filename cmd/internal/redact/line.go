package redact

import (
	"bytes"
	"slices"
)

// Line replaces the matches in a text that comes in pieces, such as a line longer than the greatest
// event, and in the lines of one output. The beginning of a match at the end of a piece counts as a
// match: the rest of it is not known by then. The zero Line has no patterns. It is not safe for
// concurrent use.
type Line struct {
	set  *Set
	open []open // by pattern; nil if no match is open
	key  int    // how many more lines may belong to a private key
}

// NewLine returns a Line for the patterns of s.
func (s *Set) NewLine() *Line { return &Line{set: s} }

// More says how a piece ends.
type More int

const (
	// Ends: the text ends with this piece.
	Ends More = iota
	// Continues: the text has more.
	Continues
	// MayContinue: the text may go on in the next piece, as with what a program writes in several
	// calls. A beginning of a match of fewer than beginning bytes does not count as a match.
	MayContinue
)

// beginning is the length of a beginning of a match that is worth hiding although the text may end
// there: the texts of a program often end with a letter that a token begins with.
const beginning = 4

// Piece returns b with all matches replaced, and their number. Without a match that is b itself.
func (l *Line) Piece(b []byte, more More) ([]byte, int) {
	spans, n := l.spans(b, more)
	b, _ = replace(b, spans)
	return b, n
}

// spans returns the parts of b to replace, none of which overlap, and the number of matches.
func (l *Line) spans(b []byte, more More) (spans []span, n int) {
	s := l.set
	if s == nil || len(b) == 0 {
		if more == Ends {
			l.open = nil
		}
		return nil, 0
	}
	spans = s.find(nil, b)
	if s.all || more == Ends && l.open == nil {
		spans = merge(spans)
		return spans, len(spans)
	}
	known := len(spans)
	var left []open
	again := 0
	var started []bool
	if more != Ends {
		started = s.started(b)
	}
	for i, p := range s.list {
		var o open
		if l.open != nil {
			o = l.open[i]
		}
		if o.pcs == nil && (more == Ends || started != nil && !started[i]) {
			continue
		}
		head, tail := p.follow(&o, b)
		if head > 0 {
			spans = append(spans, span{0, head})
			again++
		}
		if more == Ends {
			continue
		}
		if n := len(b) - tail; n > 0 && (more == Continues || n >= beginning) {
			spans = append(spans, span{tail, len(b)})
		}
		if len(o.pcs) > 0 {
			if left == nil {
				left = make([]open, len(s.list))
			}
			left[i] = o
		}
	}
	l.open = left
	spans = merge(spans)
	n = len(spans)
	if again > 0 && n > 0 && known == 0 {
		n-- // the earlier piece counted it
	}
	return spans, n
}

// clone returns a Line that goes on by itself.
func (l *Line) clone() *Line {
	c := *l
	c.open = slices.Clone(l.open)
	for i := range c.open {
		c.open[i].pcs = slices.Clone(c.open[i].pcs)
	}
	return &c
}

// Next is Piece for the lines of an output: a private key goes on in the next line.
func (l *Line) Next(b []byte, more More) ([]byte, int) {
	if l.set == nil || !l.set.keys {
		return l.Piece(b, more)
	}
	if l.key > 0 {
		if l.key--; bytes.Contains(b, keyEnd) {
			l.key = 0
		}
		l.open = nil
		return []byte(Mark), 0
	}
	out, n := l.Piece(b, more)
	if bytes.Contains(b, keyBegin) { // much faster than LastIndex
		begin := bytes.LastIndex(b, keyBegin)
		if begin > bytes.LastIndex(b, keyEnd) && bytes.Contains(b[begin:], keyName) {
			l.key = keyLines
		}
	}
	return out, n
}

// Idle reports whether no match is open: a new Line would do the same.
func (l *Line) Idle() bool {
	return l.key == 0 && !slices.ContainsFunc(l.open, func(o open) bool { return len(o.pcs) > 0 })
}
