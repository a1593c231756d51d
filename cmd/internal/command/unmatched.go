package command

import (
	"iter"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// noteUnmatched reports the names and globs of the event sets on the command line
// that cover no event type of any input: most are mistyped. The inputs have been
// read, so that their types are known as far as they ever will be.
func noteUnmatched(env *Env, inputs []*input, sel *selection) {
	var asked []string
	for _, set := range []*EventSet{sel.include, sel.exclude, sel.await} {
		if set == nil {
			continue
		}
		for _, p := range set.Patterns {
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
		for _, name := range in.typeNames() {
			asked = slices.DeleteFunc(asked, func(p string) bool { return matchGlob(p, name) })
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, p := range asked {
		if strings.ContainsAny(p, "*?") {
			env.Note("no event type matches '" + p + "'")
			continue
		}
		env.message("no event type '"+p+"'", didYouMean(near(p, names)))
	}
}

// typeNames returns the names of the event types of an input.
func (in *input) typeNames() (names []string) {
	var types iter.Seq2[posixtrace.EventID, string]
	if in.reader != nil {
		types = in.reader.EventTypes()
	} else {
		types = in.stream.EventTypes()
	}
	for _, name := range types {
		names = append(names, name)
	}
	return names
}
