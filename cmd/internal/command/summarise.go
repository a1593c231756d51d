package command

import (
	"context"
	"io"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// summarise reads the inputs and writes their summary.
func summarise(env *Env, inputs []*input, opt *dumpOptions) error {
	s := newSummary()
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
	_, err = env.Stdout.Write(s.append(nil, opt.json(), lost, env.width()))
	return err
}

// walkEvents adds the events one by one.
func walkEvents(s *summary, w *walk) error {
	inputs, opt := w.inputs, w.opt
	cache := make([][]*typeCount, len(inputs))
	index := map[*input]int{}
	for i, in := range inputs {
		cache[i] = make([]*typeCount, len(in.verdicts))
		index[in] = i
	}
	current, types := (*input)(nil), []*typeCount(nil)
	left := opt.head
	return w.each(context.Background(), func(ev *selected) bool {
		in, rec := ev.in, ev.rec
		if in != current {
			current, types = in, cache[index[in]]
		}
		var t *typeCount
		if int(rec.ID) < len(types) {
			t = types[rec.ID]
		}
		if t == nil {
			t = s.typeOf(rec.ID, in.src.Name(rec.ID))
			if int(rec.ID) < len(types) {
				types[rec.ID] = t
			}
		}
		s.add(in.src, t, rec)
		left--
		return left != 0
	})
}

// countEvents adds the events of all inputs.
func countEvents(s *summary, w *walk) error {
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
