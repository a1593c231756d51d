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
	going bool   // the text has had a piece
	space bool   // which ended with a space
	lost  bool   // a piece has changed one before: what the text shows is not known
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
	// Returns: a carriage return ends the piece. The next piece may begin another text, as of a progress bar, or
	// go on with this one, as of a line editor at the end of a line of the terminal. A beginning of a match of fewer
	// than beginning bytes does not count as a match.
	Returns
)

// beginning is the length of a beginning of a match that is worth hiding although the text may end
// there: many texts end with a letter that a token begins with.
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
	if more == Returns && len(b) > 0 && b[len(b)-1] == ' ' { // with which a line editor reaches the next line
		b = b[:len(b)-1]
	}
	if s == nil || len(b) == 0 {
		if more == Ends {
			l.end()
		}
		return nil, 0
	}
	if s.all {
		return []span{{0, len(b)}}, 1
	}
	if more == Ends && !l.given.isOpen() && !l.coded && !l.going {
		spans = merge(s.find(nil, b))
		return spans, len(spans)
	}
	if !l.coded && coded(b, more) {
		l.coded, l.shown = true, l.given.clone()
	}
	spans, found, again := l.given.spans(s, b, more)
	if l.coded {
		p := plainOf(b, &l.codes)
		l.lost = l.lost || p.back && l.going || l.space && b[0] == '\r'
		list, foundHere, againHere := l.shown.spans(s, p.text, more)
		for _, m := range list {
			spans = append(spans, p.given(m))
		}
		found, again = found || foundHere, again || againHere
	}
	if l.lost {
		spans = append(spans, span{0, len(b)})
	}
	if more == Ends {
		l.end()
	} else {
		l.going, l.space = true, b[len(b)-1] == ' '
		l.coded = l.coded && (l.lost || l.codes != inText || l.given.isOpen() || l.shown.isOpen())
	}
	spans = merge(spans)
	n = len(spans)
	if again && n > 0 && !found {
		n-- // the earlier piece counted it
	}
	return spans, n
}

// end forgets a text that has ended.
func (l *Line) end() {
	*l = Line{set: l.set, key: l.key, last: l.last}
}

// coded reports whether b has what a terminal does not show, but for a carriage return at the end of the text.
func coded(b []byte, more More) bool {
	for i, c := range b {
		if begins(c) && (c != '\r' || i < len(b)-1 || more == Continues) {
			return true
		}
	}
	return false
}

// matches are those that are open at the end of a piece.
type matches struct {
	open    []openMatch // of different patterns
	started []byte      // the end of the piece, if it is the beginning of the text that other matches begin with
}

// openMatch is an open match of a pattern.
type openMatch struct {
	pattern int
	open
}

func (m *matches) isOpen() bool { return len(m.open) > 0 || m.started != nil }

func (m *matches) isOpenOf(pattern int) bool {
	return slices.ContainsFunc(m.open, func(o openMatch) bool { return o.pattern == pattern })
}

// spans returns the parts of a piece to replace. found: there are matches within the piece. again: the first part
// ends a match that an earlier piece began.
func (m *matches) spans(s *Set, b []byte, more More) (spans []span, found, again bool) {
	if len(b) == 0 {
		return nil, false, false
	}
	spans, _ = s.search(nil, b)
	found = len(spans) > 0
	m.resume(s, b[0])
	if more != Ends {
		s.starts.each(b, func(i int) {
			if !m.isOpenOf(i) {
				m.open = append(m.open, openMatch{pattern: i})
			}
		})
	}
	left := m.open[:0]
	for _, o := range m.open {
		head, tail := s.list[o.pattern].follow(&o.open, b, more == Ends)
		if head > 0 {
			spans = append(spans, span{0, head})
			again = true
		}
		if hidden := len(b) - tail; more == Continues && hidden > 0 || more == Returns && hidden >= beginning {
			spans = append(spans, span{tail, len(b)})
		}
		if len(o.pcs) > 0 {
			left = append(left, o)
		}
	}
	m.open = left
	if more != Ends {
		whole := wholeRunes(b)
		s.starts.atEnd(whole, func(e ending) {
			if e.n > len(m.started) {
				m.started = bytes.Clone(whole[len(whole)-e.n:])
			}
		})
		from := len(whole) - len(m.started)
		if m.started != nil && (more == Continues || len(b)-from >= beginning) {
			spans = append(spans, span{from, len(b)})
		}
	}
	return spans, found, again
}

// resume opens the matches that have started at the end of the last piece and go on with c.
func (m *matches) resume(s *Set, c byte) {
	started := m.started
	m.started = nil
	s.starts.atEnd(started, func(e ending) {
		if e.goesOn(c) && !m.isOpenOf(e.pattern) {
			o := openMatch{pattern: e.pattern}
			s.list[e.pattern].follow(&o.open, started, false)
			m.open = append(m.open, o)
		}
	})
}

// clone returns matches that go on by themselves.
func (m *matches) clone() matches {
	c := matches{slices.Clone(m.open), m.started}
	for i := range c.open {
		c.open[i].pcs = slices.Clone(c.open[i].pcs)
	}
	return c
}

// Next redacts like Piece, in the lines of an output: a private key goes on in the next line.
func (l *Line) Next(b []byte, more More) ([]byte, int) {
	if l.set == nil || !l.set.keys {
		return l.Piece(b, more)
	}
	if l.key == 0 {
		out, n := l.Piece(b, more)
		if n > 0 || l.last != nil || more == Continues {
			l.followKey(b, more)
		}
		return out, n
	}
	l.key--
	l.end()
	l.followKey(b, more)
	return []byte(Mark), 0
}

// followKey looks for the first and the last line of a private key in a line, or a piece of one.
func (l *Line) followKey(b []byte, more More) {
	before := l.last
	l.last = nil
	text := b
	if coded(b, more) {
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
		l.last = keyStarted(text)
	}
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

// keyStarted returns the end of b if it may be the beginning of a line of such a frame.
func keyStarted(b []byte) []byte {
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
