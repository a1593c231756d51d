package escape

import (
	"bytes"
	"slices"
)

// A program that prints for a terminal puts control sequences into its lines. This table has those
// that can be left out of a line that is shown later, by what they do to it. All others stay in the
// line and are escaped: those that move the cursor, clear the screen, set a title or the clipboard, ask the terminal
// for an answer, switch screens or define keys.

// effect is what a control sequence does to the line it is in.
type effect uint8

const (
	foreign   effect = iota // not in the table
	rendition               // selects a graphic rendition: ESC [ digits, semicolons and colons m
	nothing                 // changes no character of the line
	erases                  // from the cursor to the end of the line, or all of it
	returns                 // moves the cursor to the start of the line
)

const (
	maxSequence = 64   // bytes of a sequence that begins with ESC [
	maxLink     = 4096 // bytes of one that begins or ends a link
)

// modes are private modes of a terminal that change no character of a line: wrapping, a blinking
// cursor, a cursor, marks around pasted text, and updates that appear at once.
var modes = []string{"7", "12", "25", "2004", "2026"}

// sequence returns what the control sequence at the start of s does, and its length. That of a
// foreign sequence is 1: only its ESC needs an escape.
func sequence(s []byte) (effect, int) {
	if len(s) < 2 {
		return foreign, 1
	}
	switch s[1] {
	case '[':
		return control(s)
	case '(', ')', '*', '+': // selects a character set
		if len(s) > 2 && '0' <= s[2] && s[2] < 0x7f {
			return nothing, 3
		}
	case '=', '>': // selects what the keypad sends
		return nothing, 2
	case ']':
		return link(s)
	}
	return foreign, 1
}

// control reads a sequence that ESC [ starts.
func control(s []byte) (effect, int) {
	n := 2
	for n < min(len(s), maxSequence) && '0' <= s[n] && s[n] <= '?' {
		n++
	}
	if n >= min(len(s), maxSequence) {
		return foreign, 1
	}
	arg := string(s[2:n])
	switch s[n] {
	case 'm':
		switch {
		case bytes.ContainsAny(s[2:n], "<=>?"):
		case conceals(s[2:n]):
			return nothing, n + 1
		default:
			return rendition, n + 1
		}
	case 'K': // in the line
		switch arg {
		case "", "0", "2":
			return erases, n + 1
		case "1":
			return nothing, n + 1
		}
	case 'J': // to the end of the screen
		switch arg {
		case "", "0":
			return erases, n + 1
		}
	case 'G':
		switch arg {
		case "", "0", "1":
			return returns, n + 1
		}
	case 'h', 'l':
		if len(arg) > 1 && arg[0] == '?' && slices.Contains(modes, arg[1:]) {
			return nothing, n + 1
		}
	}
	return foreign, 1
}

// conceals reports whether the parameters of a rendition hide the text.
func conceals(parameters []byte) bool {
	list := bytes.Split(parameters, []byte(";"))
	for i := 0; i < len(list); i++ {
		switch p := string(bytes.TrimLeft(list[i], "0")); p {
		case "8":
			return true
		case "38", "48", "58": // the next ones are of a colour
			if i+1 < len(list) && string(list[i+1]) == "2" {
				i += 2
			}
			i += 2
		}
	}
	return false
}

// link reads a sequence that ESC ] starts. Of these, only those around a link can be left out: the
// text of the link remains.
func link(s []byte) (effect, int) {
	if !bytes.HasPrefix(s, []byte("\x1b]8;")) {
		return foreign, 1
	}
	for n := len("\x1b]8;"); n < min(len(s), maxLink); n++ {
		switch c := s[n]; {
		case c == '\a':
			return nothing, n + 1
		case c == '\x1b':
			if n+1 < len(s) && s[n+1] == '\\' {
				return nothing, n + 2
			}
			return foreign, 1
		case c < ' ' || c == 0x7f:
			return foreign, 1
		}
	}
	return foreign, 1
}

// Unstyled returns a line of output without colours and without other control sequences of the
// table, as far as that makes it what a person saw: what the program erased is not in it, and neither
// is a carriage return at its end. The result is as untrusted as the line. It may be the line itself.
func Unstyled(line []byte) []byte { return strip(line, false) }

// Styled is like Unstyled but leaves colours in the line. All that begins with ESC, as Rendition
// tells, is a colour or needs an escape.
func Styled(line []byte) []byte { return strip(line, true) }

// Blank reports whether a person saw nothing of a short line, as of one that a carriage return begins and
// ends.
func Blank(line []byte) bool { return len(line) < 4*maxSequence && len(Unstyled(line)) == 0 }

// Rendition returns the length of the sequence at the start of s that selects a graphic rendition,
// such as a colour, and hides no text. It returns 0 if there is none.
func Rendition(s []byte) int {
	if len(s) > 1 && s[0] == '\x1b' && s[1] == '[' {
		if what, n := control(s); what == rendition {
			return n
		}
	}
	return 0
}

func strip(line []byte, colours bool) []byte {
	const special = "\x1b\r\x0e\x0f"
	if !hasControl(line) {
		return line // most lines; IndexAny takes ten times as long
	}
	at := bytes.IndexAny(line, special)
	if at < 0 {
		return line
	}
	out := append(make([]byte, 0, len(line)), line[:at]...)
	text, returned := at > 0, false // out has text; the cursor is before it
	bare := 0                       // how much of out are colours only, because text was erased
	put := func(s []byte) {
		if returned && text {
			out = append(out, '\r')
		}
		out, text, returned = append(out, s...), true, false
	}
	for at < len(line) {
		rest := line[at:]
		switch rest[0] {
		case '\r':
			returned = true
			at++
		case '\x0e', '\x0f': // select a character set
			at++
		case '\x1b':
			what, n := sequence(rest)
			switch {
			case what == rendition && colours:
				out = append(out, rest[:n]...)
			case what == foreign:
				put(rest[:n])
			case what == returns:
				returned = true
			case what == erases && returned:
				out, text, returned = renditions(out, bare), false, false
				bare = len(out)
			}
			at += n
		default:
			n := bytes.IndexAny(rest, special)
			if n < 0 {
				n = len(rest)
			}
			put(rest[:n])
			at += n
		}
	}
	return out
}

// renditions returns the colours in s without the text between them, of which there is none before from.
func renditions(s []byte, from int) []byte {
	out := s[:from]
	for i := from; i < len(s); {
		n := Rendition(s[i:])
		out = append(out, s[i:i+n]...)
		i += max(n, 1)
	}
	return out
}
