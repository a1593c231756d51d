package dump

import (
	"context"
	"errors"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// sink collects the listing and writes it in large pieces.
type sink struct {
	env   *cli.Env
	buf   []byte
	err   error
	form  output.Form
	saved func() error // called when everything is written; may be nil
}

// sinkSize is the size of a piece; the writer passes it on without a copy.
const sinkSize = cli.WriterSize

// flush writes the collected output through to the file. It reports whether the form has kept events
// back, for a flush soon after.
func (s *sink) flush() (held bool) {
	if f, ok := s.form.(output.Flusher); ok {
		s.buf = f.Flush(s.buf)
	}
	if h, ok := s.form.(output.Holder); ok {
		held = h.Held()
	}
	s.pass()
	if err := s.env.Stdout.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	if s.err == nil && s.saved != nil {
		s.err = s.saved()
	}
	return held
}

// pass hands the collected output to the writer.
func (s *sink) pass() {
	if len(s.buf) == 0 {
		return
	}
	if _, err := s.env.Stdout.Write(s.buf); err != nil && s.err == nil {
		s.err = err
	}
	s.buf = s.buf[:0]
}

// appendAll appends events that follow each other. It returns false after an error.
func (s *sink) appendAll(src *output.Source, recs []posixtrace.Record) bool {
	for i := range recs {
		if s.buf = s.form.Append(s.buf, src, &recs[i]); len(s.buf) >= sinkSize {
			s.pass()
		}
	}
	return s.err == nil
}

// wantsAll reports whether a listing writes every event that is wanted, and does nothing else.
func (o *options) wantsAll() bool {
	s := &o.sel
	return o.head < 0 && o.last < 0 && o.speed <= 0 && !o.sel.exits && o.cursor == "" && !s.calls.given && !s.maps && s.await == nil && s.PIDs == nil && s.TIDs == nil
}

// list writes the selected events.
func list(ctx context.Context, env *cli.Env, inputs []*input, opt *options, out *sink) error {
	form, text, err := newForm(env, opt)
	if err != nil {
		return err
	}
	if g, ok := form.(*output.Golden); ok {
		g.Live = opt.follow || slices.ContainsFunc(inputs, func(in *input) bool { return is[*pipeLog](in) })
	}
	out.form = form
	out.buf = form.Begin(make([]byte, 0, sinkSize+16<<10))
	last := lastEvents{keep: opt.last}
	var pace *pacer
	if opt.speed > 0 {
		pace = &pacer{speed: opt.speed, out: out}
	}
	shown, seen := 0, false
	show := func(ev *selected) bool {
		if pace != nil {
			pace.wait(ev.rec.UnixNano)
		}
		text.Base = ev.base
		ev.in.src.SetEnded(ev.end)
		out.buf = form.Append(out.buf, ev.in.src, ev.rec)
		ev.in.src.SetEnded(nil)
		if ev.in.cursor != nil {
			ev.in.cursor.shown(ev.rec, ev.base)
		}
		if len(out.buf) >= sinkSize {
			out.pass()
		}
		return out.err == nil
	}
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	w.out = out
	if opt.wantsAll() {
		w.run = func(in *input, recs []posixtrace.Record) bool {
			shown += len(recs)
			text.Base = w.base
			return out.appendAll(in.src, recs)
		}
	}
	costs := newCosts(form, opt)
	err = w.each(ctx, func(ev *selected) bool {
		if costs != nil && costs.take(out, ev, shown) {
			return out.err == nil && !costs.complete
		}
		if ev.wanted && (opt.head < 0 || shown < opt.head) {
			shown++
			ev.end = endedBy(ev.ended)
			if opt.last >= 0 {
				last.push(ev)
			} else if !show(ev) {
				return false
			}
		}
		seen = seen || ev.awaited
		return !seen && (opt.sel.await != nil || opt.head < 0 || shown < opt.head || costs != nil)
	})
	last.each(show)
	costs.finish(out)
	out.buf = form.End(out.buf)
	out.form = nil
	out.pass()
	switch {
	case out.err != nil:
		return out.err
	case err != nil && !errors.Is(err, errTimeout):
		return err
	}
	out.flush()
	switch {
	case out.err != nil:
		return out.err
	case opt.sel.await != nil && !seen:
		return cli.Exit(1)
	case opt.sel.await != nil, opt.head >= 0 && shown >= opt.head:
		return nil // the rest was not read, so its soundness is unknown
	}
	warnOfListing(env, inputs, opt, shown)
	return nil
}

// warnOfListing reports what a listing to the end has found.
func warnOfListing(env *cli.Env, inputs []*input, opt *options, shown int) {
	for _, in := range inputs {
		env.Warn(in.soundness())
	}
	if opt.form == "annotate" && shown == 0 {
		env.NoteHint(inputs[0].name+": no captured output", "`ptrace-run --capture` records it")
	}
}
