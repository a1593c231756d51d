package selection

import (
	"maps"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// words are the arguments of ptrace-run --events, with the event types that it records for each.
// A user event type may have the same name. A set that names the word has both, so that its members
// do not depend on which names a stream or log has, and in which order it defines them.
var words = map[string][]posixtrace.EventID{
	None:        nil,
	"files":     {posixtrace.EventFileAccess},
	"command":   {posixtrace.EventProcExec, posixtrace.EventProcExit},
	"proc":      {posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit},
	"signal":    {posixtrace.EventProcSignal},
	syscallWord: nil, // the types whose names start with callPrefix
}

const syscallWord = "syscall"

// None is the word for no event.
const None = "none"

// Words returns the words.
func Words() []string { return slices.Sorted(maps.Keys(words)) }

// Sources returns the words that name events.
func Sources() []string {
	return slices.DeleteFunc(Words(), func(w string) bool { return w == None })
}

// IsWord reports whether an item of an event set is a word.
func IsWord(item string) bool {
	_, ok := words[item]
	return ok
}

// HasWord reports whether a word names the event type with this id and name.
func HasWord(word string, id posixtrace.EventID, name string) bool {
	return name == word || slices.Contains(words[word], id) || word == syscallWord && strings.HasPrefix(name, callPrefix)
}
