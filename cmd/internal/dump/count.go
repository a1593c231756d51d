package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/summary"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A summary of finished logs needs no event in particular unless there are spans to be
// measured, and counting is much faster than reading.

// countable reports whether all that a summary tells can be had by counting.
func (w *walk) countable() bool {
	sel := &w.opt.sel
	if w.opt.head >= 0 || sel.await != nil || sel.pids != nil || sel.tids != nil || !w.based {
		return false
	}
	for _, in := range w.inputs {
		if !in.finished() {
			return false // types may come, or the order decides what is sound
		}
		types, err := in.reader.EventTypes()
		if err != nil {
			return false
		}
		for _, t := range types {
			if span, begins, ends := summary.SpanOf(t.ID, t.Name); span != "" && (begins || ends) && sel.wants(t.ID, t.Name) {
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
