package redact

import "unicode/utf8"

// plain is a text as a terminal shows it: without escape sequences, without the characters that others overstrike,
// and without carriage returns. The patterns are compared with it, too: a program may colour a part of a
// token, and a line editor returns the carriage within a long line.
type plain struct {
	text     []byte
	from, to []int // of each byte of text: its part of the text that was given
	back     bool  // a backspace goes back beyond the beginning
}

// codes is where a text is in an escape sequence. It goes on in the next piece.
type codes int

const (
	inText      codes = iota
	inEscape          // behind ESC
	inControl         // behind ESC [
	inString          // behind ESC ], until BEL or ESC \
	inStringEnd       // behind ESC in such a string
)

const (
	esc       = 0x1b
	backspace = '\b'
	bell      = '\a'
)

// begins reports whether a byte begins what a terminal does not show.
func begins(c byte) bool { return c == esc || c == backspace || c == '\r' }

// after returns the place behind a byte of an escape sequence, and whether the byte belongs to the sequence.
func (c codes) after(b byte) (codes, bool) {
	switch {
	case c == inString && b == bell, c == inStringEnd && b == '\\':
		return inText, true
	case c == inString && b == esc:
		return inStringEnd, true
	case c == inString:
		if b == '\n' {
			return inText, false
		}
		return inString, true
	case b == esc:
		return inEscape, true
	case c == inControl && b >= '@' && b <= '~':
		return inText, true
	case c == inControl && b >= ' ' && b <= '?':
		return inControl, true
	case c == inControl:
		return inText, false
	case b == '[':
		return inControl, true
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		return inString, true
	case b >= ' ' && b <= '/':
		return inEscape, true
	}
	return inText, b >= '0' && b <= '~'
}

// plainOf returns b as a terminal shows it. state is where the text before it ended.
func plainOf(b []byte, state *codes) *plain {
	p := &plain{text: make([]byte, 0, len(b)), from: make([]int, 0, len(b)), to: make([]int, 0, len(b))}
	var struck []byte // the last character that a backspace returns to
	start := 0        // of it
	times := 0        // how many backspaces
	for i := 0; i < len(b); i++ {
		c := b[i]
		if *state != inText {
			var belongs bool
			if *state, belongs = state.after(c); belongs {
				continue
			}
		}
		switch c {
		case esc:
			*state = inEscape
			continue
		case '\r':
			if n := len(p.text); n > 0 && i > 0 && b[i-1] == ' ' { // a line editor writes a space to reach the next line
				p.cut(n - 1)
			}
			continue
		case backspace:
			n := len(p.text)
			if n == 0 {
				p.back = true
				continue
			}
			_, size := utf8.DecodeLastRune(p.text)
			struck, start = append(struck[:0], p.text[n-size:]...), p.from[n-size]
			p.cut(n - size)
			times++
			continue
		}
		if times > 0 {
			if c != '_' || times > 1 {
				struck = append(struck[:0], c)
			} // else it underlines the character
			for _, c := range struck {
				p.add(c, start, i+1)
			}
			times = 0
			continue
		}
		p.add(c, i, i+1)
	}
	return p
}

func (p *plain) add(c byte, from, to int) {
	p.text, p.from, p.to = append(p.text, c), append(p.from, from), append(p.to, to)
}

func (p *plain) cut(n int) { p.text, p.from, p.to = p.text[:n], p.from[:n], p.to[:n] }

// given returns the part of the text that was given for a part of the plain text.
func (p *plain) given(s span) span { return span{p.from[s.from], p.to[s.to-1]} }
