package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/selection"
)

// noteOutside reports times of the command line that select nothing, if the inputs are whole logs that
// can be read twice.
func noteOutside(env *cli.Env, inputs []*input, opt *options) {
	if opt.follow || opt.cursor != "" {
		return
	}
	var logs []selection.Dated
	for _, in := range inputs {
		if !in.seekable() || in.soundness() != nil {
			return
		}
		last := func() (int64, error) { return selection.LastTime(in.reader, in.file) }
		if in.log != nil {
			last = in.log.LastTime
		}
		logs = append(logs, selection.Dated{Reader: in.reader, Last: last})
	}
	opt.sel.NoteOutside(env, logs)
}
