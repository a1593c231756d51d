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
	seen := map[string]bool{}
	own := 0
	for _, text := range given {
		if seen[text] {
			continue
		}
		seen[text] = true
		switch text {
		case Tokens:
			s.keys, s.known = true, knownTokens()
			s.list = append(s.list, s.known.list...)
		case KeepData:
			s.keepsData = true
		default:
			p, err := compile(text)
			if err != nil {
				return nil, err
			}
			if own++; own > maxPatterns {
				return nil, errMany
			}
			s.list = append(s.list, p)
		}
	}
	if s.known != nil && len(s.list) == len(s.known.list) { // the common case
		s.always, s.pairs, s.starts = s.known.always, s.known.pairs, s.known.starts
		return s, nil
	}
	s.ready()
	return s, nil
}

// ready makes the indexes of the patterns.
func (s *Set) ready() {
	for i, p := range s.list {
		if p.need == nil {
			s.always = append(s.always, i)
		}
		for _, l := range p.need {
			s.pairs.add(l, i)
		}
		s.starts.add(p, i)
	}
	s.pairs.addCodes()
	s.pairs.ready()
	s.starts.ready()
}

// knownTokens is the set of the known forms of tokens alone.
var knownTokens = sync.OnceValue(func() *Set {
	s := &Set{}
	for _, text := range tokens {
		p, err := parse(text)
		if err != nil {
			panic("redact: " + text + ": " + err.Error())
		}
		s.list = append(s.list, p)
	}
	s.ready()
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
