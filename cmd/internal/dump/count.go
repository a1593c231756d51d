package dump

import (
	"io"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A summary of finished logs needs the individual events of some types only: spans, processes,
// output and system calls. It counts the others, which is much faster than reading them.

// countable reports whether events of the inputs can be counted.
func (w *walk) countable() bool {
	sel := &w.opt.sel
	if w.opt.head >= 0 || sel.await != nil || sel.calls.given || sel.PIDs != nil || sel.TIDs != nil || !w.based {
		return false
	}
	for _, in := range w.inputs {
		if l, ok := in.source.(*fileLog); !ok || !l.finished() {
			return false // types may still appear, or the soundness depends on the order
		}
	}
	return true
}

// countEvents counts the events of all inputs and reads those that the analysis needs, each input
// on its own. It returns false, and leaves the inputs at their start, if reading them all is better:
// because most events are needed, or because a log is damaged.
func countEvents(w *walk, sources map[*input]*analysis.Source) bool {
	p := w.newProgress()
	defer p.Clear()
	counts := make([]posixtrace.Counts, len(w.inputs))
	needed := make([]posixtrace.EventSet, len(w.inputs))
	all, read, sound := uint64(0), uint64(0), true
	for i, in := range w.inputs {
		sound = sound && in.countInto(&counts[i], &w.opt.sel, p)
		n, m := in.needed(&counts[i], &w.opt.sel, &needed[i])
		all, read = all+m, read+n
	}
	if !sound || read > all/2 {
		for _, in := range w.inputs {
			in.source.(*fileLog).reader().Rewind()
		}
		return false
	}
	for i, in := range w.inputs {
		for n := range counts[i].Types() {
			if !needed[i].Has(n.ID) && in.verdictOn(&w.opt.sel, n.ID)&wanted != 0 {
				sources[in].AddCount(&n)
			}
		}
		if read > 0 {
			in.readInto(w, sources[in], &needed[i])
		}
	}
	return true
}

// needed adds the types of the counted events that the analysis needs to a set, and returns how many
// events they have, and how many there are.
func (in *input) needed(c *posixtrace.Counts, sel *selects, types *posixtrace.EventSet) (read, all uint64) {
	for n := range c.Types() {
		all += n.Events
		if name := in.src.Name(n.ID); !analysis.Plain(n.ID, name) && sel.wants(n.ID, name) {
			types.Add(n.ID)
			read += n.Events
		}
	}
	return read, all
}

// sampled is the number of events after which countInto looks at their types.
const sampled = 1 << 11

// countInto counts the events of an input. It returns false if that fails, or if the analysis needs
// most of the first events.
func (in *input) countInto(c *posixtrace.Counts, sel *selects, p *output.Progress) bool {
	r, looked := in.source.(*fileLog).reader(), false
	for {
		before := c.Events
		err := r.Count(c)
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		p.Add(c.Events-min(before, c.Events), c.Latest)
		if !looked && c.Events >= sampled {
			looked = true
			if read, all := in.needed(c, sel, new(posixtrace.EventSet)); read > all/2 {
				return false
			}
		}
	}
}

// readInto reads the events of some types from the start.
func (in *input) readInto(w *walk, src *analysis.Source, types *posixtrace.EventSet) {
	sel := selection.Between(w.since, w.until)
	sel.Types = types
	r := in.source.(*fileLog).reader()
	err := r.Rewind()
	r.Select(sel)
	var b posixtrace.Batch
	for err == nil {
		if err = r.NextBatch(&b); err == nil {
			in.redact.Records(b.Records)
			src.Add(b.Records)
		}
	}
	if err != io.EOF {
		w.env.Warn(cli.Failure(in.name, err))
	}
}
