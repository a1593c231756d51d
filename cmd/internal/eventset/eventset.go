// Package eventset parses sets of events as they are written on command lines.
package eventset

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Set is a set of events as written on a command line: names, globs and
// classes. Unlike posixtrace.EventSet it needs no stream to be understood.
type Set struct {
	Classes  posixtrace.EventSet // what the classes @user, @system and @all cover
	Patterns []string            // names and globs
}

// Parse parses a comma list of names, globs (* and ?) and classes.
func Parse(s string) (set Set, err error) {
	for _, item := range strings.Split(s, ",") {
		switch {
		case item == "":
			return Set{}, cli.Usagef("empty name in event set '%s'", s)
		case item == "@all":
			set.Classes.Union(Classes(true, true))
		case item == "@system":
			set.Classes.Union(Classes(true, false))
		case item == "@user":
			set.Classes.Union(Classes(false, true))
		case item[0] == '@':
			return Set{}, cli.Usagef("unknown class '%s' in event set; classes are @user, @system and @all", item)
		case len(item) > posixtrace.EventNameMax:
			return Set{}, cli.Usagef("name of more than %d bytes in event set", posixtrace.EventNameMax)
		default:
			set.Patterns = append(set.Patterns, item)
		}
	}
	return set, nil
}

// IsFlushMark reports whether events of this type mark a flush. Text and summaries
// leave them out unless --events selects them: they report the trace system's own
// work, not the program's.
func IsFlushMark(id posixtrace.EventID) bool {
	return id == posixtrace.EventFlushStart || id == posixtrace.EventFlushStop
}

func Classes(system, user bool) (s posixtrace.EventSet) {
	var sys posixtrace.EventSet
	sys.Fill(posixtrace.FillSystem)
	if user {
		s.Fill(posixtrace.FillAll)
		if !system {
			s.Subtract(sys)
		}
		return s
	}
	return sys
}

// Has reports whether the set covers an event type of this id and name.
func (s *Set) Has(id posixtrace.EventID, name string) bool {
	if s.Classes.Has(id) {
		return true
	}
	for _, p := range s.Patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}

// Op makes a step of Stream.FilterOps of the set.
func (s *Set) Op(how posixtrace.FilterHow) posixtrace.FilterOp {
	return posixtrace.FilterOp{How: how, Set: s.Classes, Patterns: s.Patterns}
}

// Add makes the members of t members too.
func (s *Set) Add(t Set) {
	s.Classes.Union(t.Classes)
	s.Patterns = append(s.Patterns, t.Patterns...)
}

// Match reports whether name matches a glob: * stands for any bytes, ? for
// one. It takes time in proportion to the product of the lengths, no more.
func Match(glob, name string) bool {
	g, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

// FromOption returns the union of the sets given for an option; ok tells whether
// there was one.
func FromOption(a *cli.Args, name string) (set Set, ok bool, err error) {
	for _, v := range a.All(name) {
		s, err := Parse(v)
		if err != nil {
			return Set{}, false, err
		}
		set.Add(s)
		ok = true
	}
	return set, ok, nil
}
