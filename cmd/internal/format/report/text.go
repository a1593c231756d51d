package report

import (
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// unquoted reports whether a byte of ASCII stands for itself in a JSON string inside an HTML document:
// no tag and no comment begins without a "<".
func unquoted(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' }

// appendJSON appends a name, escaped as AppendPrintable says, as the inside of a JSON string.
func appendJSON[T string | []byte](b []byte, s T) []byte {
	return appendInside(b, escape.AppendPrintable(nil, s))
}

// appendDataJSON appends data of an event, escaped as AppendLine says, as the inside of a JSON string.
func appendDataJSON(b []byte, s string) []byte {
	return appendInside(b, escape.AppendLine(nil, s))
}

// appendInside appends visible text as the inside of a JSON string.
func appendInside(b, s []byte) []byte {
	for _, c := range s {
		if c < utf8.RuneSelf && !unquoted(c) {
			b = escape.AppendJSONByte(b, c)
		} else {
			b = append(b, c)
		}
	}
	return b
}

// Two noncharacters, which no line has, are around an escape in a line, so that the page can show
// what is an escape and what was printed so.
const (
	escapeBegins = `\ufdd0`
	escapeEnds   = `\ufdd1`
)

// appendLineJSON appends a line of output as the inside of a JSON string, with its colours.
func appendLineJSON(b, s []byte) []byte {
	s = escape.Styled(s)
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && unquoted(c) {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		n, shown := escape.Shown(s, i)
		switch colour := escape.Rendition(s[i:]); {
		case colour > 0:
			b, n = append(append(b, `\u001b`...), s[i+1:i+colour]...), colour
		case shown:
			b = appendInside(b, s[i:i+n])
		default:
			b = append(appendInside(append(b, escapeBegins...), escape.AppendLine(nil, s[i:i+n])), escapeEnds...)
		}
		i += n
		start = i
	}
	return append(b, s[start:]...)
}

// quote appends text as a JSON string.
func quote(b []byte, s string) []byte { return append(appendJSON(append(b, '"'), s), '"') }

// cut shortens text to at most n bytes, at the end of a character.
func cut[T string | []byte](s T, n int) T { return s[:escape.Cut(s, n)] }

// texts numbers texts. Number 0 is the empty one.
type texts struct {
	ids  map[string]int32
	list []string
	size int            // about that of all in the JSON
	data map[int32]bool // those that are data only, and no names
}

func newTexts() *texts {
	return &texts{ids: map[string]int32{"": 0}, list: []string{""}, data: map[int32]bool{}}
}

func (t *texts) add(s []byte) int32 {
	if id, ok := t.ids[string(s)]; ok {
		return id
	}
	return t.put(string(s))
}

func (t *texts) addString(s string) int32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	return t.put(s)
}

// addName adds a text that is shown as a name.
func (t *texts) addName(s string) int32 {
	id := t.addString(s)
	delete(t.data, id)
	return id
}

// addData adds a text that is shown as it was printed, unless it is a name, too.
func (t *texts) addData(s string) int32 {
	n := len(t.list)
	id := t.addString(s)
	if int(id) == n {
		t.data[id] = true
	}
	return id
}

func (t *texts) put(s string) int32 {
	id := int32(len(t.list))
	t.ids[s] = id
	t.list = append(t.list, s)
	t.size += len(s) + len(`"",`)
	return id
}
