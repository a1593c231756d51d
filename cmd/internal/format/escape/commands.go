package escape

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// CI systems take commands from what a job prints. A Guard escapes the last byte of each syntax, which
// untrusted text could contain; what precedes it is no command.

// syntax is how a command of a CI system begins.
type syntax struct {
	text  string
	where place
}

// place is where in a line a CI system finds a command.
type place uint8

const (
	anywhere place = iota
	atStart        // of a line; colours before and within it count as nothing
	atText         // at the start of a line, also after blanks
)

// syntaxes are the commands of CI systems. A marker of Buildkite only folds the log: the escaped blank
// of "---\x20a/file" leaves the head of a diff readable.
var syntaxes = []syntax{
	{"::", atText},               // GitHub Actions, Gitea, Forgejo
	{"##[", anywhere},            // GitHub Actions, Azure Pipelines
	{"##vso[", anywhere},         // Azure Pipelines
	{"##teamcity[", anywhere},    // TeamCity
	{"##octopus[", anywhere},     // Octopus Deploy
	{"##myget[", anywhere},       // MyGet
	{"travis_fold:", anywhere},   // Travis CI
	{"travis_time:", anywhere},   // Travis CI
	{"section_start:", anywhere}, // GitLab
	{"section_end:", anywhere},   // GitLab
	{"\x1b[8mha:", anywhere},     // Jenkins: the head of a console note
	{"--- ", atStart},            // Buildkite, as the next ones
	{"---\t", atStart},
	{"+++ ", atStart},
	{"+++\t", atStart},
	{"~~~ ", atStart},
	{"~~~\t", atStart},
	{"^^^ +++", atStart},
	{"^^^\t+++", atStart},
}

// anchor is a byte that is rare in text, and one of the bytes beside it. Each syntax that is found
// anywhere contains one.
type anchor struct {
	byte byte
	near int    // where the byte beside it is
	is   string // what that is
	in   []anchored
}

// anchored is a syntax, and where in it its first anchor is.
type anchored struct {
	text string
	at   int
}

var anchors = func() []anchor {
	all := []anchor{{byte: '#', near: 1, is: "#"}, {byte: '_', near: -1, is: "sn"}, {byte: '\x1b', near: 1, is: "["}}
	for i := range all {
		for _, s := range syntaxes {
			if at := strings.IndexByte(s.text, all[i].byte); at >= 0 && s.where == anywhere {
				all[i].in = append(all[i].in, anchored{s.text, at})
			}
		}
	}
	return all
}()

// longest is the length of the longest syntax.
var longest = func() (n int) {
	for _, s := range syntaxes {
		n = max(n, len(s.text))
	}
	return n
}()

// Notation is how a byte is escaped.
type Notation uint8

const (
	AsIs Notation = iota // not escaped
	Text                 // \xHH
	JSON                 // \u00HH, within a string
	XML                  // &#N;
)

func (n Notation) append(b []byte, c byte) []byte {
	switch n {
	case JSON:
		return AppendJSONUnit(b, uint16(c))
	case XML:
		return append(strconv.AppendUint(append(b, "&#"...), uint64(c), 10), ';')
	}
	return AppendHexByte(b, c)
}

// Guard escapes commands of CI systems in the parts of a text. The zero Guard does nothing.
type Guard struct {
	Notation Notation
	Lines    bool // also those at the start of a line

	tail  []byte // the end of the text so far
	found []int  // where the part has bytes to escape
	start lineStart
}

// Commands returns text with the commands of CI systems escaped. If begins is set, the text may be the
// start of a line.
func Commands(text []byte, begins bool) []byte {
	return (&Guard{Notation: Text, Lines: begins}).Apply(text)
}

// HasCommand reports whether lines have a command of a CI system.
func HasCommand(text string) bool {
	g := Guard{Notation: Text, Lines: true}
	g.Apply([]byte(text))
	return len(g.found) > 0
}

// Apply returns the next part of the text with commands escaped. The result is p if there are none.
func (g *Guard) Apply(p []byte) []byte {
	if g.Notation == AsIs || len(p) == 0 {
		return p
	}
	g.found = g.found[:0]
	g.find(p, 0)
	if len(g.tail) > 0 {
		n := len(g.tail)
		g.find(append(g.tail, p[:min(len(p), longest-1)]...), n)
	}
	if g.Lines {
		g.found = g.start.find(g.found, p)
	}
	if keep := longest - 1; len(p) >= keep {
		g.tail = append(g.tail[:0], p[len(p)-keep:]...)
	} else {
		g.tail = append(g.tail, p...)
		g.tail = slices.Delete(g.tail, 0, max(0, len(g.tail)-keep))
	}
	if len(g.found) == 0 {
		return p
	}
	slices.Sort(g.found)
	var out []byte
	from := 0
	for _, at := range slices.Compact(g.found) {
		out = g.Notation.append(append(out, p[from:at]...), p[at])
		from = at + 1
	}
	return append(out, p[from:]...)
}

// find adds the ends of the syntaxes in text that end at before or behind it. before is where the part
// begins.
func (g *Guard) find(text []byte, before int) {
	for i := range anchors {
		a := &anchors[i]
		for at := 0; ; at++ {
			n := bytes.IndexByte(text[at:], a.byte)
			if n < 0 {
				break
			}
			at += n
			if near := at + a.near; near < 0 || near >= len(text) || text[near] != a.is[0] && text[near] != a.is[len(a.is)-1] {
				continue
			}
			for _, s := range a.in {
				from := at - s.at
				end := from + len(s.text) - 1
				if from >= 0 && end >= before && end < len(text) && string(text[from:end+1]) == s.text {
					g.found = append(g.found, end-before)
				}
			}
		}
	}
}

// lineStart looks for syntaxes at the starts of lines.
type lineStart struct {
	decided bool // the rest of the line is of no interest
	head    []byte
	blanks  bool // before head
	colour  colour
}

// colour is how much of a sequence of colours was read: ESC [, digits, semicolons and, behind a digit,
// colons, then m or K.
type colour uint8

const (
	noColour colour = iota
	colourEscape
	colourBegins
	colourNumber
)

// find appends where a part of the text has the last byte of a syntax at the start of a line.
func (l *lineStart) find(found []int, p []byte) []int {
	for i := 0; i < len(p); i++ {
		if l.decided {
			n := bytes.IndexByte(p[i:], '\n')
			if n < 0 {
				break
			}
			i += n
		}
		switch c := p[i]; {
		case c == '\n':
			l.decided, l.blanks, l.colour, l.head = false, false, noColour, l.head[:0]
		case len(l.head) == 0 && !mayStart[c] && l.colour == noColour:
			l.decided = true
		case l.next(c):
			found = append(found, i)
		}
	}
	return found
}

// mayStart has the bytes that a syntax at the start of a line begins with, and those before it.
var mayStart = func() (t [256]bool) {
	for _, c := range []byte(" \t\r\x1b") {
		t[c] = true
	}
	for _, s := range syntaxes {
		t[s.text[0]] = t[s.text[0]] || s.where != anywhere
	}
	return t
}()

// next takes the next byte of a line, and reports whether a syntax ends with it.
func (l *lineStart) next(c byte) bool {
	switch {
	case l.colour == colourEscape && c == '[':
		l.colour = colourBegins
		return false
	case l.colour >= colourBegins && '0' <= c && c <= '9', l.colour == colourNumber && (c == ';' || c == ':'):
		l.colour = colourNumber
		return false
	case l.colour == colourBegins && c == ';':
		return false
	case l.colour >= colourBegins && (c == 'm' || c == 'K'):
		l.colour = noColour
		return false
	case c == '\x1b':
		l.colour = colourEscape
		return false
	case c == '\r', len(l.head) == 0 && (c == ' ' || c == '\t'):
		l.blanks, l.head = true, l.head[:0]
		return false
	}
	l.head = append(l.head, c)
	l.decided = true
	for _, s := range syntaxes {
		switch {
		case s.where == anywhere || s.where == atStart && l.blanks || len(l.head) > len(s.text) || string(l.head) != s.text[:len(l.head)]:
		case len(l.head) == len(s.text):
			l.decided = true
			return true
		default:
			l.decided = false
		}
	}
	return false
}
