// Event sets of command lines.

package selection

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// EventSet is an event set of a command line: names, globs, classes and words. Unlike
// posixtrace.EventSet it does not depend on a stream.
type EventSet struct {
	Classes  posixtrace.EventSet // the types that @user, @system and @all cover
	Patterns []string            // names and globs
	Calls    []string            // classes of system calls: %file
	Words    []string            // arguments of ptrace-run --events: proc
}

// callPrefix starts the names of the event types of system calls.
const callPrefix = "syscall."

// Parse parses a comma-separated list of names, globs (* and ?), classes, classes of system calls
// and words.
func ParseEvents(s string) (set EventSet, err error) {
	for _, item := range strings.Split(s, ",") {
		switch {
		case item == "":
			return EventSet{}, cli.Usagef("empty name in event set '%s'", s)
		case item == "@all":
			set.Classes.Union(Classes(true, true))
		case item == "@system":
			set.Classes.Union(Classes(true, false))
		case item == "@user":
			set.Classes.Union(Classes(false, true))
		case item[0] == '@':
			return EventSet{}, cli.Usagef("unknown class '%s' in event set; classes are @user, @system and @all", item)
		case item[0] == catalog.CallPrefix:
			if _, err := CallClass(item); err != nil {
				return EventSet{}, err
			}
			set.Calls = append(set.Calls, item)
		case len(item) > posixtrace.EventNameMax:
			return EventSet{}, cli.Usagef("name of more than %d bytes in event set", posixtrace.EventNameMax)
		case IsWord(item):
			set.Words = append(set.Words, item)
		default:
			set.Patterns = append(set.Patterns, item)
		}
	}
	return set, nil
}

// CallClass returns the names of the system calls of a class, such as %file.
func CallClass(class string) (names []string, err error) {
	names, ok := catalog.CallNames(class)
	if ok {
		return names, nil
	}
	classes := catalog.CallClasses()
	if ask := cli.DidYouMean(class, classes); ask != "" {
		return nil, cli.Usagef("unknown class of system calls '%s', %s", class, ask)
	}
	return nil, cli.Usagef("unknown class of system calls '%s'; classes are %s", class, strings.Join(classes, ", "))
}

// IsFlushMark reports whether events of this type mark a flush. Text and summaries
// leave them out unless --events selects them: they report the trace system's own
// work, not the program's.
func IsFlushMark(id posixtrace.EventID) bool {
	return id == posixtrace.EventFlushStart || id == posixtrace.EventFlushStop
}

// IsMark reports whether text and summaries leave events of this type out unless --events selects
// them: flush marks, and trace contexts, which are for the systems that logs are exported to.
func IsMark(id posixtrace.EventID) bool {
	return IsFlushMark(id) || id == posixtrace.EventProcContext
}

// IsUnasked reports whether events of this type are left out unless --events asks for them: marks,
// and the mappings with which addresses get names.
func IsUnasked(id posixtrace.EventID) bool { return IsMark(id) || id == posixtrace.EventProcMap }

// Names reports whether the set has a name literally, not by a glob or a class.
func (s *EventSet) Names(name string) bool { return slices.Contains(s.Patterns, name) }

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

// Has reports whether the set contains the event type with this id and name.
func (s *EventSet) Has(id posixtrace.EventID, name string) bool {
	if s.Classes.Has(id) {
		return true
	}
	for _, p := range s.Patterns {
		if Match(p, name) {
			return true
		}
	}
	for _, class := range s.Calls {
		if HasCall(class, name) {
			return true
		}
	}
	for _, word := range s.Words {
		if HasWord(word, id, name) {
			return true
		}
	}
	return false
}

// HasCall reports whether a class of system calls has the one whose event type has this name.
func HasCall(class, name string) bool {
	call, ok := strings.CutPrefix(name, callPrefix)
	return ok && catalog.HasCall(class, call)
}

// Op returns the set as an operation of Stream.FilterOps.
func (s *EventSet) Op(how posixtrace.FilterHow) posixtrace.FilterOp {
	patterns := slices.Clone(s.Patterns)
	for _, class := range s.Calls {
		names, _ := catalog.CallNames(class)
		for _, name := range names {
			patterns = append(patterns, callPrefix+name)
		}
	}
	types := s.Classes
	for _, word := range s.Words {
		patterns = append(patterns, word)
		if word == syscallWord {
			patterns = append(patterns, callPrefix+"*")
		}
		for _, id := range words[word] {
			types.Add(id)
		}
	}
	return posixtrace.FilterOp{How: how, Set: types, Patterns: patterns}
}

// Add adds the members of t.
func (s *EventSet) Add(t EventSet) {
	s.Classes.Union(t.Classes)
	s.Patterns = append(s.Patterns, t.Patterns...)
	s.Calls = append(s.Calls, t.Calls...)
	s.Words = append(s.Words, t.Words...)
}

// FromOption returns the union of the sets given for an option; ok is false if there was
// none.
func FromOption(a *cli.Args, name string) (set EventSet, ok bool, err error) {
	for _, v := range a.All(name) {
		s, err := ParseEvents(v)
		if err != nil {
			return EventSet{}, false, err
		}
		set.Add(s)
		ok = true
	}
	return set, ok, nil
}

// manyCalls is from how many names of system calls on Filter registers them. A stream keeps 64
// patterns.
const manyCalls = 8

// Filter changes the filter of a stream as Stream.FilterOps does. A stream keeps few patterns for
// names that are registered later, but a class of system calls has many names. Filter registers
// these names.
func Filter(s *posixtrace.Stream, ops []posixtrace.FilterOp) error {
	var calls []string
	isCall := func(p string) bool { return strings.HasPrefix(p, callPrefix) && !strings.ContainsAny(p, "*?") }
	for _, op := range ops {
		for _, p := range op.Patterns {
			if isCall(p) {
				calls = append(calls, p)
			}
		}
	}
	if len(calls) < manyCalls {
		return s.FilterOps(ops)
	}
	ids, err := s.OpenSystemEventIDs(calls...)
	if err != nil {
		return err
	}
	named := slices.Clone(ops)
	for i := range named {
		op := &named[i]
		op.Patterns = nil
		for _, p := range ops[i].Patterns {
			if isCall(p) {
				op.Set.Add(ids[0])
				ids = ids[1:]
			} else {
				op.Patterns = append(op.Patterns, p)
			}
		}
	}
	return s.FilterOps(named)
}
