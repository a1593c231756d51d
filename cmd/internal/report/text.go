package report

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
)

// unquoted reports whether a byte of ASCII stands for itself in a JSON string inside an HTML document:
// no tag and no comment begins without a "<".
func unquoted(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' }

// appendJSON appends text as the inside of a JSON string. What is not visible, or changes the order
// of other characters, is escaped. Bytes that are not UTF-8 become U+FFFD.
func appendJSON[T string | []byte](b []byte, s T) []byte {
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !unquoted(c) {
				b = appendUnit(append(b, s[start:i]...), c)
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		if !escape.Visible(r) {
			b = append(b, s[start:i]...)
			for _, u := range utf16.AppendRune(nil, r) {
				b = append(b, '\\', 'u', escape.HexDigits[u>>12], escape.HexDigits[u>>8&15], escape.HexDigits[u>>4&15], escape.HexDigits[u&15])
			}
			start = i + n
		}
		i += n
	}
	return append(b, s[start:]...)
}

// appendUnit appends an escaped byte of ASCII.
func appendUnit(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', escape.HexDigits[c>>4], escape.HexDigits[c&15])
}

// quote appends text as a JSON string.
func quote(b []byte, s string) []byte { return append(appendJSON(append(b, '"'), s), '"') }

// cut shortens text to at most n bytes, at the start of a character.
func cut[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax && i >= 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// texts numbers texts. Number 0 is the empty one.
type texts struct {
	ids  map[string]int32
	list []string
	size int // about that of all in the JSON
}

func newTexts() *texts { return &texts{ids: map[string]int32{"": 0}, list: []string{""}} }

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

func (t *texts) put(s string) int32 {
	id := int32(len(t.list))
	t.ids[s] = id
	t.list = append(t.list, s)
	t.size += len(s) + len(`"",`)
	return id
}
