package redact

import (
	"strings"
	"unicode/utf8"
)

// Check returns the error of one pattern, which does not show it.
func Check(text string) error {
	if strings.HasPrefix(text, "@") {
		if text != Tokens {
			return errNoToken
		}
		return nil
	}
	_, err := compile(text)
	return err
}

// New compiles patterns. Errors do not show them.
func New(given []string) (*Set, error) {
	s := &Set{given: given}
	seen := map[string]bool{}
	for _, text := range given {
		list := []string{text}
		if text == Tokens {
			list, s.keys = tokens, true
		}
		for _, text := range list {
			if seen[text] {
				continue
			}
			seen[text] = true
			if err := s.add(text); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add compiles a pattern into the set.
func (s *Set) add(text string) error {
	p, err := compile(text)
	if err != nil {
		return err
	}
	i := len(s.list)
	if i == maxPatterns {
		return errMany
	}
	s.list = append(s.list, p)
	if p.need == nil {
		s.always = append(s.always, i)
	}
	for _, l := range p.need {
		s.pairs.add(l, i)
	}
	for _, l := range p.from {
		s.starts.add(l, i)
	}
	return nil
}

// valid reports whether a pattern is text: neither binary nor of another encoding.
func valid(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// CommandLine returns the arguments of a command, with the patterns of the set themselves replaced
// too: --redact=SECRET shows nothing.
func (s *Set) CommandLine(argv []string) []string {
	if s == nil {
		return argv
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		for _, text := range s.given {
			if text != Tokens && text != "" {
				arg = strings.ReplaceAll(arg, text, Mark)
			}
		}
		out[i] = s.String(arg)
	}
	return out
}
