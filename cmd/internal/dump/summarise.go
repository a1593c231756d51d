package dump

import (
	"context"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// summarise reads the inputs and writes their summary.
func summarise(env *cli.Env, inputs []*input, opt *options) error {
	o := &opt.show
	o.Marks = opt.sel.Include != nil
	a := summary.New(o)
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	sources := map[*input]*analysis.Source{}
	for _, in := range inputs {
		sources[in] = a.NewSource(in.typeName)
	}
	if !w.countable() || !countEvents(w, sources) {
		if err := walkEvents(w, sources); err != nil {
			return err
		}
	}
	a.Finish()
	for _, in := range inputs {
		if opt.head < 0 {
			if err := in.soundness(); err != nil {
				env.Warn(err)
				o.Unsound = append(o.Unsound, cli.AsFault(err).Text)
			}
		}
	}
	var lost uint64
	for _, in := range inputs {
		if st, err := in.status(); err == nil {
			lost += st.Lost + st.LogLost
		}
	}
	if o.Form == summary.Text {
		o.Width, o.Height = env.Size(env.Stdout.Dest())
		if p := env.Colors.Out; p.On {
			o.Red = cli.Sequence(p.Failure)
		}
	}
	_, err = env.Stdout.Write(summary.Append(nil, a, lost, o))
	return err
}

// collector gets the events of an input. It does not keep them.
type collector interface {
	Add(recs []posixtrace.Record)
}

// walkEvents adds the events.
func walkEvents[C collector](w *walk, sources map[*input]C) error {
	var current *input
	var src C
	left := w.opt.head
	if w.opt.wantsAll() {
		w.run = func(in *input, recs []posixtrace.Record) bool {
			sources[in].Add(recs)
			return true
		}
	}
	var one [1]posixtrace.Record
	return w.each(context.Background(), func(ev *selected) bool {
		if ev.in != current {
			current, src = ev.in, sources[ev.in]
		}
		one[0] = *ev.rec
		src.Add(one[:])
		left--
		return left != 0
	})
}
