package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Check returns the error of one pattern, which does not show it.
func Check(text string) error {
	if strings.HasPrefix(text, "@") {
		if text != Tokens && text != KeepData {
			return errNoWord
		}
		return nil
	}
	_, err := compile(text)
	return err
}

// New compiles patterns. Errors do not show them.
func New(given []string) (*Set, error) {
	s := &Set{given: given}
	s.pairs.addCodes()
	seen := map[string]bool{}
	for _, text := range given {
		if seen[text] {
			continue
		}
		seen[text] = true
		switch text {
		case Tokens:
			s.keys, s.known = true, knownTokens()
			for _, p := range s.known.list {
				s.add(p)
			}
		case KeepData:
			s.keepsData = true
		default:
			p, err := compile(text)
			if err != nil {
				return nil, err
			}
			s.add(p)
		}
		if len(s.list) > maxPatterns {
			return nil, errMany
		}
	}
	return s, nil
}

// add adds a pattern to the set.
func (s *Set) add(p *pattern) {
	i := len(s.list)
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
}

// knownTokens is the set of the known forms of tokens alone.
var knownTokens = sync.OnceValue(func() *Set {
	s := &Set{}
	s.pairs.addCodes()
	for _, text := range tokens {
		p, err := parse(text)
		if err != nil {
			panic("redact: " + text + ": " + err.Error())
		}
		s.add(p)
	}
	return s
})

// KeepsData reports whether the bytes that system calls move are kept.
func (s *Set) KeepsData() bool { return s.keepsData }

// valid reports whether a pattern is text: neither binary nor of another encoding.
func valid(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// CommandLine returns the arguments of a command, with the patterns of the set themselves replaced
// too: --redact=SECRET shows nothing.
func (s *Set) CommandLine(argv []string) []string {
	if s == nil {
		return argv
	}
	out := slices.Clone(argv)
	for i := range out {
		for _, text := range s.given {
			if text != Tokens && text != KeepData && text != "" {
				out[i] = strings.ReplaceAll(out[i], text, Mark)
			}
		}
	}
	out, _ = s.Strings(out)
	return out
}
