package dump

import (
	"context"
	"io"
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// selected is an event for the modes of ptrace-dump.
type selected struct {
	in      *input
	rec     *posixtrace.Record
	base    int64              // time of the first event, selected or not
	wanted  bool               // to be shown
	awaited bool               // --wait-for waits for it
	ended   *analysis.Interval // with --failed or --slower-than, what it ends; nil if it ends nothing
	end     *output.Ended      // the same as it is shown
}

// walk reads all inputs once.
type walk struct {
	env    *cli.Env
	inputs []*input
	opt    *options
	out    *sink // the listing's; nil without one

	// run, if set, is called by each instead of f for a run of events of one input that are wanted
	// and not awaited.
	run func(in *input, recs []posixtrace.Record) bool

	based        bool // base and the bounds are known
	base         int64
	last         int64
	since, until int64
}

// newWalk prepares a walk over the inputs.
func newWalk(env *cli.Env, inputs []*input, opt *options) (*walk, error) {
	w := &walk{env: env, inputs: inputs, opt: opt}
	if w.idle() {
		return w, nil
	}
	return w, w.prepare()
}

// idle reports whether nothing needs to be read.
func (w *walk) idle() bool { return w.opt.head == 0 && w.opt.sel.await == nil }

// newProgress returns the progress of the walk, or nil.
func (w *walk) newProgress() *output.Progress {
	if w.opt.follow || w.opt.speed != 0 {
		return nil
	}
	p := newProgress(w.env, w.inputs, w.opt.mode == "")
	if p != nil && w.based {
		p.From, p.To = max(w.since, w.base), w.until
	}
	return p
}

// each calls f for each event that is wanted or awaited, in order, until f returns false.
func (w *walk) each(ctx context.Context, f func(ev *selected) bool) error {
	if w.idle() {
		return nil
	}
	opt, sel := w.opt, &w.opt.sel
	processes := sel.PIDs != nil || sel.TIDs != nil
	m := newMerge(w.env, w.inputs, opt.follow, w.out)
	p := w.newProgress()
	defer p.Clear()
	ev := new(selected) // reused: f does not keep it
	var only *input     // a single input, whose batches need no merge
	if len(w.inputs) == 1 {
		only = w.inputs[0]
	}
	for {
		var (
			in  *input
			rec *posixtrace.Record
			err error
		)
		if n := w.wantedRun(only); n > 0 {
			recs := only.records[:n]
			only.records = only.records[n:]
			p.Add(uint64(n), recs[n-1].UnixNano)
			if !w.run(only, recs) {
				return nil
			}
			continue
		}
		if only != nil && len(only.records) > 0 {
			in, rec = only, &only.records[0]
			only.records = only.records[1:]
		} else {
			in, rec, err = m.next(ctx)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if p != nil {
			p.Add(1, rec.UnixNano)
		}
		if !w.based {
			w.begin(rec.UnixNano)
		}
		if in.spaces != nil {
			in.spaces.Note(rec)
		}
		var ended *analysis.Interval
		if in.ends != nil {
			ended = in.ends.Of(rec)
		}
		if rec.UnixNano >= w.until {
			if opt.follow {
				return nil // all following events are later
			}
			continue
		}
		if rec.UnixNano < w.since || processes && !sel.HasProcess(rec.PID, rec.TID) {
			continue
		}
		v := in.verdictOn(sel, rec.ID)
		if sel.calls.given && v&wanted != 0 && !sel.calls.has(in.src, rec, ended) {
			v &^= wanted
		}
		if v&(wanted|awaited) == 0 || in.cursor != nil && in.cursor.Passed(rec) {
			continue
		}
		ev.in, ev.rec, ev.base, ev.wanted, ev.awaited, ev.ended = in, rec, w.base, v&wanted != 0, v&awaited != 0, ended
		if !f(ev) {
			return nil
		}
	}
}

// wantedRun returns how many of the events that come next are for w.run.
func (w *walk) wantedRun(in *input) int {
	if w.run == nil || in == nil || !w.based {
		return 0
	}
	for i := range in.records {
		rec := &in.records[i]
		if v, _ := in.verdicts.Get(rec.ID); v != wanted || rec.UnixNano < w.since || rec.UnixNano >= w.until {
			return i
		}
	}
	return len(in.records)
}

// begin sets the base and the bounds from the time of the first event.
func (w *walk) begin(first int64) {
	w.based, w.base = true, first
	w.since, w.until = w.opt.sel.Bounds(first, w.last)
}

// prepare finds the first and, if needed, the last event. It passes the selection to the
// readers, which skip the parts of a log without selected events.
func (w *walk) prepare() error {
	w.since, w.until = math.MinInt64, math.MaxInt64
	first, all, found := int64(math.MaxInt64), true, false
	for _, in := range w.inputs {
		t, ok := in.cursorBase()
		if s, again := in.source.(rereadable); again && !ok {
			t, ok = selection.FirstTime(s.reader())
		} else if !ok {
			all = false // known only when it is read
		}
		if ok {
			first, found = min(first, t), true
		}
	}
	if w.opt.sel.FromLast() {
		var err error
		if w.last, err = lastTime(w.inputs); err != nil {
			return err
		}
	}
	if all && found {
		w.begin(first)
	}
	noted := posixtrace.Selection{Mappings: true}
	spans := w.opt.sel.calls.needsSpans() // a span is known by its begin and its end, so nothing is skipped
	for _, in := range w.inputs {
		if spans {
			in.ends = analysis.NewEnds(in.src.Name)
		}
		s, ok := in.source.(kept)
		if again, twice := s.(rereadable); twice && !spans {
			in.narrow(again.reader(), w.since, w.until, w.opt)
		} else if ok && (w.opt.sel.notes || w.opt.sel.maps && !spans) {
			s.reader().Select(noted)
		}
	}
	return nil
}

// narrow passes the selection to the reader as far as the reader supports it.
func (in *input) narrow(r *posixtrace.Reader, since, until int64, opt *options) {
	if in.cursor != nil && in.cursor.Started {
		since = max(since, in.cursor.Time)
	}
	if opt.follow {
		until = math.MaxInt64 // the input ends at the first event after the bound, which the reader returns
	}
	sel := &opt.sel
	s := selection.Between(since, until)
	s.Mappings = sel.notes || sel.maps && opt.follow // else readMaps has them
	// A log that is being written may get new types, and a damaged log may lack
	// definitions.
	if state, _ := r.State(); state == posixtrace.LogFinished {
		s.Types = sel.types(r)
	}
	if s != (posixtrace.Selection{}) {
		r.Select(s)
	}
}
