package selection

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Asked returns the names and globs of event sets, which may be nil.
func Asked(sets ...*EventSet) (asked []string) {
	for _, set := range sets {
		if set == nil {
			continue
		}
		for _, p := range slices.Concat(set.Patterns, set.Calls, set.Words) {
			if !slices.Contains(asked, p) {
				asked = append(asked, p)
			}
		}
	}
	return asked
}

// NoteUnmatched reports names, globs and words of the command line that match none of the event types
// of all inputs; most are mistyped.
func NoteUnmatched(env *cli.Env, asked []string, types []posixtrace.EventType) {
	var names []string
	for _, t := range types {
		asked = slices.DeleteFunc(asked, func(p string) bool {
			return p == None || Match(p, t.Name) || HasCall(p, t.Name) || HasWord(p, t.ID, t.Name)
		})
		names = append(names, t.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, p := range asked {
		switch {
		case p[0] == catalog.CallPrefix, strings.ContainsAny(p, "*?"):
			env.Note("no event type matches '" + p + "'")
		case IsWord(p):
			env.NoteHint("no event type matches '"+p+"'", "`ptrace-run -e "+p+"` records them")
		case slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, p+".") }):
			env.NoteHint("no event type '"+p+"'", "did you mean '"+p+".*'?")
		default:
			env.NoteHint("no event type '"+p+"'", cli.DidYouMean(p, slices.Concat(names, Sources())))
		}
	}
}
