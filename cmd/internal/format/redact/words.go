package redact

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Word is a text of a list, such as an argument of a program.
type Word struct {
	Text []byte
	Cut  bool // it is only the beginning of one
}

// inWords returns the matches in each word. The known forms of tokens are also looked for in the whole line of
// words: the name of a secret may be one word, and the secret the next. Other patterns are compared with single
// words, as ".*" of one must not hide the words behind.
func (s *Set) inWords(words []Word) [][]span {
	found := make([][]span, len(words))
	size := 0
	for i, w := range words {
		more := Ends
		if w.Cut {
			more = Continues
		}
		found[i], _ = s.NewLine().spans(w.Text, more)
		size += len(w.Text) + 1
	}
	if s.known == nil || len(words) < 2 {
		return found
	}
	line := make([]byte, 0, size)
	for _, w := range words {
		line = append(append(line, w.Text...), ' ')
	}
	for _, m := range s.known.find(nil, line) {
		at := 0
		for i, w := range words {
			if from, to := max(m.from-at, 0), min(m.to-at, len(w.Text)); from < to {
				found[i] = append(found[i], span{from, to})
			}
			at += len(w.Text) + 1
		}
	}
	return found
}

// Words replaces the matches in the words of a list, and returns their number.
func (s *Set) Words(words []Word) (texts [][]byte, n int) {
	for i, found := range s.inWords(words) {
		text, k := replace(words[i].Text, found)
		texts, n = append(texts, text), n+k
	}
	return texts, n
}

// Strings replaces the matches in the arguments of a program, and returns their number.
func (s *Set) Strings(args []string) ([]string, int) {
	if s == nil {
		return args, 0
	}
	words := make([]Word, len(args))
	for i, a := range args {
		words[i].Text = []byte(a)
	}
	texts, n := s.Words(words)
	if n == 0 {
		return args, 0
	}
	out := make([]string, len(args))
	for i, text := range texts {
		out[i] = string(text)
	}
	return out, n
}

// FilterOps replaces the matches in the names of a filter. An event whose name has a secret is recorded under
// the name without it, so that "?" in the filter stands for each character of what replaces the secret.
func (s *Set) FilterOps(ops []posixtrace.FilterOp) []posixtrace.FilterOp {
	if s == nil {
		return ops
	}
	out := slices.Clone(ops)
	for i, op := range ops {
		out[i].Patterns = slices.Clone(op.Patterns)
		for k, p := range op.Patterns {
			if name := s.String(p); name != p {
				out[i].Patterns[k] = strings.ReplaceAll(name, Mark, "???")
			}
		}
	}
	return out
}
