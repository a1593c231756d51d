package selection

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/callset"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Asked returns the names and globs of event sets, which may be nil.
func Asked(sets ...*eventset.Set) (asked []string) {
	for _, set := range sets {
		if set == nil {
			continue
		}
		for _, p := range slices.Concat(set.Patterns, set.Calls) {
			if !slices.Contains(asked, p) {
				asked = append(asked, p)
			}
		}
	}
	return asked
}

// NoteUnmatched reports names and globs of the command line that match none of the event types of
// all inputs; most are mistyped.
func NoteUnmatched(env *cli.Env, asked []string, types []posixtrace.EventType) {
	var names []string
	for _, t := range types {
		name := t.Name
		asked = slices.DeleteFunc(asked, func(p string) bool { return eventset.Match(p, name) || eventset.HasCall(p, name) })
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, p := range asked {
		if p[0] == callset.Prefix || strings.ContainsAny(p, "*?") {
			env.Note("no event type matches '" + p + "'")
			continue
		}
		env.NoteHint("no event type '"+p+"'", cli.DidYouMean(p, names))
	}
}
