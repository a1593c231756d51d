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
	set   *Set
	given matches
	shown matches // in the text as a terminal shows it, if it differs
	coded bool    // it differs, in this piece or in one before
	codes codes
	key   int    // how many more lines may belong to a private key
	last  []byte // the end of what is shown of the line so far
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
)

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
			l.end()
		}
		return nil, 0
	}
	if s.all {
		return []span{{0, len(b)}}, 1
	}
	if more == Ends && l.given.open == nil && !l.coded {
		spans = merge(s.find(nil, b))
		return spans, len(spans)
	}
	if !l.coded && coded(b) {
		l.coded, l.shown = true, l.given.clone()
	}
	spans, found, again := l.given.spans(s, b, more)
	if l.coded {
		p := plainOf(b, &l.codes)
		list, foundHere, againHere := l.shown.spans(s, p.text, more)
		for _, m := range list {
			spans = append(spans, p.given(m))
		}
		found, again = found || foundHere, again || againHere
	}
	if more == Ends || l.coded && l.codes == inText && !l.given.isOpen() && !l.shown.isOpen() {
		l.end()
	}
	spans = merge(spans)
	n = len(spans)
	if again && n > 0 && !found {
		n-- // the earlier piece counted it
	}
	return spans, n
}

// end forgets a text that has ended.
func (l *Line) end() { l.given, l.shown, l.coded, l.codes = matches{}, matches{}, false, inText }

// coded reports whether b has what a terminal does not show, but for a carriage return at its end.
func coded(b []byte) bool {
	for i, c := range b {
		if begins(c) && (c != '\r' || i < len(b)-1) {
			return true
		}
	}
	return false
}

// matches are those that are open at the end of a piece.
type matches struct {
	open []open // by pattern; nil if no match is open
}

func (m *matches) isOpen() bool {
	return slices.ContainsFunc(m.open, func(o open) bool { return len(o.pcs) > 0 })
}

// spans returns the parts of a piece to replace. found: there are matches within the piece. again: the first part
// ends a match that an earlier piece began.
func (m *matches) spans(s *Set, b []byte, more More) (spans []span, found, again bool) {
	if len(b) == 0 {
		return nil, false, false
	}
	spans, _ = s.search(nil, b)
	found = len(spans) > 0
	var left []open
	var started []bool
	if more != Ends {
		started = s.started(b)
	}
	for i, p := range s.list {
		var o open
		if m.open != nil {
			o = m.open[i]
		}
		if o.pcs == nil && (more == Ends || started != nil && !started[i]) {
			continue
		}
		head, tail := p.follow(&o, b)
		if head > 0 {
			spans = append(spans, span{0, head})
			again = true
		}
		if more == Ends {
			continue
		}
		if tail < len(b) {
			spans = append(spans, span{tail, len(b)})
		}
		if len(o.pcs) > 0 {
			if left == nil {
				left = make([]open, len(s.list))
			}
			left[i] = o
		}
	}
	m.open = left
	return spans, found, again
}

// clone returns matches that go on by themselves.
func (m *matches) clone() matches {
	c := matches{slices.Clone(m.open)}
	for i := range c.open {
		c.open[i].pcs = slices.Clone(c.open[i].pcs)
	}
	return c
}

// Next is Piece for the lines of an output: a private key goes on in the next line.
func (l *Line) Next(b []byte, more More) ([]byte, int) {
	if l.set == nil || !l.set.keys {
		return l.Piece(b, more)
	}
	hidden, before := l.key > 0, l.last
	out, n := []byte(Mark), 0
	if hidden {
		l.key--
		l.end()
	} else {
		out, n = l.Piece(b, more)
	}
	l.last = nil
	if !hidden && n == 0 && before == nil && more == Ends {
		return out, n
	}
	text := b
	if coded(b) {
		var c codes
		text = plainOf(b, &c).text
	}
	if before != nil {
		text = append(before, text...)
	}
	begin, end := lastKey(text, keyBegin), lastKey(text, keyEnd)
	switch {
	case begin > end:
		l.key = keyLines
	case end > begin:
		l.key = 0
	}
	if more == Continues {
		l.last = keyBegun(text)
	}
	return out, n
}

// lastKey returns where the last line of the frame of a private key is, or -1.
func lastKey(b, word []byte) int {
	for {
		i := bytes.LastIndex(b, word)
		if i < 0 || bytes.Contains(b[i:min(len(b), i+keyFrame)], keyName) {
			return i
		}
		b = b[:i]
	}
}

// keyBegun returns the end of b if it may be the beginning of a line of such a frame.
func keyBegun(b []byte) []byte {
	i := bytes.LastIndex(b, keyBegin[:5])
	if i < 0 {
		i = len(bytes.TrimRight(b, "-"))
	}
	text := b[i:]
	for _, word := range [][]byte{keyBegin, keyEnd} {
		if n := min(len(text), len(word)); n > 0 && len(text) < keyFrame && bytes.Equal(text[:n], word[:n]) {
			return bytes.Clone(text)
		}
	}
	return nil
}

// Idle reports whether no match is open: a new Line would do the same.
func (l *Line) Idle() bool { return l.key == 0 && l.last == nil && !l.coded && !l.given.isOpen() }
