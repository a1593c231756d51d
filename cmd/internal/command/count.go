package command

import (
	"io"
	"strings"

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
		for id, name := range in.reader.EventTypes() {
			if span, begins, ends := spanOf(id, name); span != "" && (begins || ends) && sel.wants(id, name) {
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

// spanOf returns the name of the span that an event type begins or ends.
func spanOf(id posixtrace.EventID, name string) (span string, begins, ends bool) {
	if !id.User() {
		return "", false, false
	}
	if span, begins = strings.CutSuffix(name, ".begin"); !begins {
		span, ends = strings.CutSuffix(name, ".end")
	}
	return span, begins, ends
}

// count adds the events of all inputs.
func (s *summary) count(w *walk) error {
	p := w.newProgress()
	defer p.clear()
	for _, in := range w.inputs {
		var c posixtrace.Counts
		for {
			before := c.Events
			err := in.reader.Count(&c)
			if err == io.EOF {
				break
			}
			if err != nil {
				w.env.Warn(failure(in.name, err))
				break
			}
			p.steps(c.Events-min(before, c.Events), c.Latest)
		}
		for n := range c.Types() {
			if in.verdictOn(&w.opt.sel, n.ID)&wanted != 0 {
				s.addCount(s.typeOf(n.ID, in.src.Name(n.ID)), &n)
			}
		}
	}
	return nil
}

// addCount adds the events of one type.
func (s *summary) addCount(t *typeCount, n *posixtrace.TypeCount) {
	if s.events == 0 {
		s.first, s.last = n.First, n.Last
	}
	s.events += n.Events
	s.first, s.last = min(s.first, n.First), max(s.last, n.Last)
	t.count += n.Events
	t.bytes += n.Bytes
}
