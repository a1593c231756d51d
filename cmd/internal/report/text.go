package report

import (
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
)

// unquoted marks the bytes of ASCII that stand for themselves in a JSON string inside an HTML
// document: no tag and no comment begins without a "<".
var unquoted = func() (t [utf8.RuneSelf]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\' && c != '<'
	}
	return
}()

// appendJSON appends text as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendJSON[T string | []byte](b []byte, s T) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if unquoted[c] {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', escape.HexDigits[c>>4], escape.HexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[start:i]...), "\ufffd"...)
			start = i + n
		}
		i += n
	}
	return append(b, s[start:]...)
}

func quote(b []byte, s string) []byte { return append(appendJSON(append(b, '"'), s), '"') }

// cut shortens text to at most n bytes, at the start of a character.
func cut[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// texts numbers texts. Number 0 is the empty one.
type texts struct {
	ids  map[string]int32
	list []string
	size int // of all in bytes
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
	t.size += len(s)
	return id
}
