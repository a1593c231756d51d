package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// noteUnmatched reports names and globs of the command line that match no event type of any
// input. The inputs have been read, so all their types are known.
func noteUnmatched(env *cli.Env, inputs []*input, sel *selects) {
	asked := selection.Asked(sel.Include, sel.Exclude, sel.await)
	if len(asked) == 0 {
		return
	}
	var all []posixtrace.EventType
	for _, in := range inputs {
		if in.soundness() != nil {
			return // names may be missing
		}
		types, err := in.readTypes()
		if err != nil {
			return // as above
		}
		for _, t := range types {
			t.Name = in.redact.String(t.Name) // the message may show it
			all = append(all, t)
		}
	}
	selection.NoteUnmatched(env, asked, all)
}
