package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A summary of finished logs without spans, processes, output and system calls does not need the
// individual events. Counting them is much faster than reading them.

// countable reports whether counting gives the whole summary.
func (w *walk) countable() bool {
	sel := &w.opt.sel
	if w.opt.head >= 0 || sel.await != nil || sel.pids != nil || sel.tids != nil || !w.based {
		return false
	}
	for _, in := range w.inputs {
		if !in.finished() {
			return false // types may still appear, or the soundness depends on the order
		}
		types, err := in.reader.EventTypes()
		if err != nil {
			return false
		}
		for _, t := range types {
			if !analysis.Plain(t.ID, t.Name) && sel.wants(t.ID, t.Name) {
				return false
			}
		}
	}
	return true
}

// finished reports whether the input is a finished log in a file.
func (in *input) finished() bool {
	if in.file == nil || !in.seekable() {
		return false
	}
	state, _ := in.reader.State()
	return state == posixtrace.LogFinished
}
