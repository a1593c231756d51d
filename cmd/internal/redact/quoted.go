package redact

import "bytes"

// quoted is a text in quotes within an argument of a system call, such as an element of argv.
type quoted struct {
	from, to int    // of the text, without the quotes
	text     []byte // as it was before it was quoted
	at       []int  // where each of its bytes is, and its end
	cut      bool   // it is only the beginning
	block    bool   // an element of an array of struct iovec: {"text", 4}
}

// quotedIn returns the texts in quotes. A backslash precedes a quote or a backslash in them.
func quotedIn(b []byte) (list []quoted) {
	for i := 0; i < len(b); i++ {
		if b[i] != '"' || i > 0 && bytes.IndexByte([]byte("[{ ,=>"), b[i-1]) < 0 { // it is part of a path
			continue
		}
		q := quoted{from: i + 1, block: i > 0 && b[i-1] == '{'}
		for i++; i < len(b) && b[i] != '"'; i++ {
			q.at = append(q.at, i)
			if b[i] == '\\' && i+1 < len(b) {
				i++
			}
			q.text = append(q.text, b[i])
		}
		q.to = min(i, len(b))
		q.at = append(q.at, q.to)
		q.cut = i >= len(b) || bytes.HasPrefix(b[i+1:], []byte("..."))
		list = append(list, q)
	}
	return list
}

// appendEscaped appends a text as it is within quotes.
func appendEscaped(b, text []byte) []byte {
	for _, c := range text {
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return b
}

// requote returns b with other texts in quotes, nil for those that stay.
func requote(b []byte, list []quoted, texts [][]byte) []byte {
	var out []byte
	at := 0
	for i, q := range list {
		if texts[i] != nil {
			out = appendEscaped(append(out, b[at:q.from]...), texts[i])
			at = q.to
		}
	}
	if at == 0 {
		return b
	}
	return append(out, b[at:]...)
}

// quoted appends the matches in texts in quotes, each of which is whole or cut.
func (s *Set) quoted(spans []span, b []byte) []span {
	for _, q := range quotedIn(b) {
		more := Ends
		if q.cut {
			more = Continues
		}
		list, _ := s.NewLine().spans(q.text, more)
		for _, m := range list {
			spans = append(spans, span{q.at[m.from], q.at[m.to]})
		}
	}
	return spans
}
