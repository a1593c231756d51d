package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
)

// noteOutside reports times of the command line that select nothing, if the inputs are whole logs that
// can be read twice.
func noteOutside(env *cli.Env, inputs []*input, opt *options) {
	if opt.follow || opt.cursor != "" {
		return
	}
	var logs []selection.Dated
	for _, in := range inputs {
		s, ok := in.source.(rereadable)
		if !ok || in.soundness() != nil {
			return
		}
		logs = append(logs, selection.Dated{Reader: s.reader(), Last: s.lastTime})
	}
	opt.sel.NoteOutside(env, logs)
}
