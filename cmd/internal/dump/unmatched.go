package dump

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/callset"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// noteUnmatched reports names and globs of the command line that match no event type of any
// input; most are mistyped. The inputs have been read, so all their types are known.
func noteUnmatched(env *cli.Env, inputs []*input, sel *selection) {
	var asked []string
	for _, set := range []*eventset.Set{sel.include, sel.exclude, sel.await} {
		if set == nil {
			continue
		}
		for _, p := range slices.Concat(set.Patterns, set.Calls) {
			if !slices.Contains(asked, p) {
				asked = append(asked, p)
			}
		}
	}
	if len(asked) == 0 {
		return
	}
	var names []string
	for _, in := range inputs {
		if in.soundness() != nil {
			return // names may be missing
		}
		types, err := in.types()
		if err != nil {
			return // as above
		}
		for _, t := range types {
			name := t.Name
			asked = slices.DeleteFunc(asked, func(p string) bool { return eventset.Match(p, name) || eventset.HasCall(p, name) })
			names = append(names, name)
		}
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

// types returns the event types of an input.
func (in *input) types() ([]posixtrace.EventType, error) {
	if in.reader != nil {
		return in.reader.EventTypes()
	}
	return in.stream.EventTypes()
}
