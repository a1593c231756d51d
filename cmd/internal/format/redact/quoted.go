package redact

import "bytes"

// quoted is a text in quotes within an argument of a system call, such as an element of argv.
type quoted struct {
	text []byte // as it was before it was quoted
	at   []int  // where each of its bytes is, and its end
	cut  bool   // it is only the beginning
}

// quotedIn returns the texts in quotes. A backslash precedes a quote or a backslash in them.
func quotedIn(b []byte) (list []quoted) {
	for i := 0; i < len(b); i++ {
		if b[i] != '"' || i > 0 && bytes.IndexByte([]byte("[{ ,=>"), b[i-1]) < 0 { // it is part of a path
			continue
		}
		q := quoted{}
		for i++; i < len(b) && b[i] != '"'; i++ {
			q.at = append(q.at, i)
			if b[i] == '\\' && i+1 < len(b) {
				i++
			}
			q.text = append(q.text, b[i])
		}
		q.at = append(q.at, min(i, len(b)))
		q.cut = i >= len(b) || bytes.HasPrefix(b[i+1:], []byte("..."))
		list = append(list, q)
	}
	return list
}

// quoted appends the matches in texts in quotes, each of which is whole or cut.
func (s *Set) quoted(spans []span, b []byte) []span {
	list := quotedIn(b)
	words := make([]Word, len(list))
	for i, q := range list {
		words[i] = Word{q.text, q.cut}
	}
	for i, found := range s.inWords(words) {
		for _, m := range found {
			spans = append(spans, span{list[i].at[m.from], list[i].at[m.to]})
		}
	}
	return spans
}
