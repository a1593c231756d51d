package dump

import (
	"context"
	"io"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/summary"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// summarise reads the inputs and writes their summary.
func summarise(env *cli.Env, inputs []*input, opt *options) error {
	s := summary.New()
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	if w.countable() {
		err = countEvents(s, w)
	} else {
		err = walkEvents(s, w)
	}
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if opt.head < 0 {
			env.Warn(in.soundness())
		}
	}
	var lost uint64
	for _, in := range inputs {
		if st, err := in.status(); err == nil {
			lost += st.Lost + st.LogLost
		}
	}
	_, err = env.Stdout.Write(s.Append(nil, opt.json(), lost, env.Width()))
	return err
}

// walkEvents adds the events one by one.
func walkEvents(s *summary.Summary, w *walk) error {
	inputs, opt := w.inputs, w.opt
	cache := make([][]*summary.TypeCount, len(inputs))
	index := map[*input]int{}
	for i, in := range inputs {
		cache[i] = make([]*summary.TypeCount, len(in.verdicts))
		index[in] = i
	}
	current, types := (*input)(nil), []*summary.TypeCount(nil)
	left := opt.head
	return w.each(context.Background(), func(ev *selected) bool {
		in, rec := ev.in, ev.rec
		if in != current {
			current, types = in, cache[index[in]]
		}
		var t *summary.TypeCount
		if int(rec.ID) < len(types) {
			t = types[rec.ID]
		}
		if t == nil {
			t = s.TypeOf(rec.ID, in.src.Name(rec.ID))
			if int(rec.ID) < len(types) {
				types[rec.ID] = t
			}
		}
		s.Add(in.src, t, rec)
		left--
		return left != 0
	})
}

// countEvents adds the events of all inputs.
func countEvents(s *summary.Summary, w *walk) error {
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
				w.env.Warn(cli.Failure(in.name, err))
				break
			}
			p.steps(c.Events-min(before, c.Events), c.Latest)
		}
		for n := range c.Types() {
			if in.verdictOn(&w.opt.sel, n.ID)&wanted != 0 {
				s.AddCount(s.TypeOf(n.ID, in.src.Name(n.ID)), &n)
			}
		}
	}
	return nil
}
