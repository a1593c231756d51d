package command

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// sink gathers the listing and hands it on in large pieces.
type sink struct {
	env *Env
	buf []byte
	err error
}

const sinkSize = 48 << 10

// flush writes what was gathered through to the file.
func (s *sink) flush() {
	s.pass()
	if err := s.env.Stdout.Flush(); err != nil && s.err == nil {
		s.err = err
	}
}

// pass hands what was gathered to the writer.
func (s *sink) pass() {
	if len(s.buf) == 0 {
		return
	}
	if _, err := s.env.Stdout.Write(s.buf); err != nil && s.err == nil {
		s.err = err
	}
	s.buf = s.buf[:0]
}

// merge reads several inputs as one, by time.
type merge struct {
	env    *Env
	inputs []*input
	heads  []*posixtrace.Record // the next event of each; nil when there is none
	latest int                  // the input whose head was taken last, -1 at first
	err    error                // of an input that could not be read on
}

func newMerge(env *Env, inputs []*input) *merge {
	return &merge{env: env, inputs: inputs, heads: make([]*posixtrace.Record, len(inputs)), latest: -1}
}

// next returns the next event and its input, io.EOF when all are at their end.
// An input that cannot be read on is reported and given up.
func (m *merge) next(ctx context.Context) (*input, *posixtrace.Record, error) {
	if len(m.inputs) == 1 {
		rec, err := m.inputs[0].next(ctx)
		if err != nil && err != io.EOF && err != errTimeout {
			m.env.Warn(failure(m.inputs[0].name, err))
			err = io.EOF
		}
		return m.inputs[0], rec, err
	}
	for i, in := range m.inputs {
		if m.latest >= 0 && m.latest != i {
			continue
		}
		rec, err := in.next(ctx)
		if err != nil && err != io.EOF {
			m.env.Warn(failure(in.name, err))
		}
		m.heads[i] = rec
		if err != nil {
			m.heads[i] = nil
		}
	}
	m.latest = -1
	for i, rec := range m.heads {
		if rec != nil && (m.latest < 0 || rec.UnixNano < m.heads[m.latest].UnixNano) {
			m.latest = i
		}
	}
	if m.latest < 0 {
		m.latest = len(m.inputs) // nothing left to read
		return nil, nil, io.EOF
	}
	return m.inputs[m.latest], m.heads[m.latest], nil
}

// bounds are --since and --until once they are known.
type bounds struct{ since, until int64 }

// settle finds the bounds of a selection. Those that count from the last event
// need a reading of their own, after which the inputs start over.
func settle(env *Env, inputs []*input, sel *selection, first int64) (b bounds, err error) {
	b = bounds{-1 << 63, 1<<63 - 1}
	var last int64
	if sel.since.given && sel.since.kind == fromLast || sel.until.given && sel.until.kind == fromLast {
		if last, err = lastTime(inputs); err != nil {
			return b, err
		}
	}
	if sel.since.given {
		b.since = sel.since.resolve(first, last)
	}
	if sel.until.given {
		b.until = sel.until.resolve(first, last)
	}
	return b, nil
}

func lastTime(inputs []*input) (last int64, err error) {
	for _, in := range inputs {
		if in.reader == nil {
			return 0, failf("%s: a time from the last event needs --peek on a stream", in.name)
		}
		if err := in.reader.Rewind(); err != nil {
			return 0, failf("%s: a time from the last event needs a log that can be read twice", in.name)
		}
		for {
			rec, err := in.reader.Next()
			if err != nil {
				break
			}
			last = max(last, rec.UnixNano)
		}
		if err := in.reader.Rewind(); err != nil {
			return 0, failure(in.name, err)
		}
	}
	return last, nil
}

// each calls f for every selected event in order until it returns false. base is
// the time of the first event, selected or not.
func each(ctx context.Context, env *Env, inputs []*input, sel *selection, f func(in *input, rec *posixtrace.Record, base int64) bool) error {
	m := newMerge(env, inputs)
	var base int64
	var b bounds
	begun := false
	processes := sel.pids != nil || sel.tids != nil
	for {
		in, rec, err := m.next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !begun {
			begun, base = true, rec.UnixNano
			if b, err = settle(env, inputs, sel, base); err != nil {
				return err
			}
			if sel.since.given && sel.since.kind == fromLast || sel.until.given && sel.until.kind == fromLast {
				m = newMerge(env, inputs)
				continue
			}
		}
		if rec.UnixNano < b.since || rec.UnixNano >= b.until {
			continue
		}
		if processes && !sel.wantsProcess(rec.PID, rec.TID) || !in.wantsType(sel, rec.ID) {
			continue
		}
		if !f(in, rec, base) {
			return nil
		}
	}
}

// list writes the selected events, one by one.
func list(ctx context.Context, env *Env, inputs []*input, opt *dumpOptions, out *sink) error {
	text := &output.Text{Style: opt.style}
	if p := env.colors.out; p.on {
		text.SystemOn, text.SystemOff, _ = strings.Cut(p.system.Sprint("\x00"), "\x00")
	}
	form, err := newForm(opt, text)
	if err != nil {
		return err
	}
	out.buf = form.Begin(make([]byte, 0, sinkSize+16<<10))
	var ring lastLines
	if opt.last >= 0 {
		ring.keep = opt.last
	}
	shown, seen := 0, false
	show := func(in *input, rec *posixtrace.Record, base int64) bool {
		if opt.head >= 0 && shown >= opt.head {
			return false
		}
		shown++
		text.Base = base
		if opt.last >= 0 {
			ring.buf = form.Append(ring.buf[:0], in.src, rec)
			ring.push()
		} else {
			out.buf = form.Append(out.buf, in.src, rec)
			if len(out.buf) >= sinkSize {
				out.pass()
				if out.err != nil {
					return false
				}
			}
		}
		if opt.wait != nil && opt.wait.Has(rec.ID, in.src.Name(rec.ID)) {
			seen = true
			return false
		}
		return opt.head < 0 || shown < opt.head
	}
	err = eachOf(ctx, env, inputs, opt, show)
	for _, line := range ring.lines() {
		out.buf = append(out.buf, line...)
		if len(out.buf) >= sinkSize {
			out.pass()
		}
	}
	out.buf = form.End(out.buf)
	out.pass()
	switch {
	case out.err != nil:
		return out.err
	case err != nil && !errors.Is(err, errTimeout):
		return err
	case opt.wait != nil && !seen:
		return Exit(1)
	case opt.wait != nil, opt.head >= 0 && shown >= opt.head:
		return nil // the rest was not read
	}
	for _, in := range inputs {
		env.Warn(in.verdict())
	}
	return nil
}

func newForm(opt *dumpOptions, text *output.Text) (output.Form, error) {
	switch opt.form {
	case "json":
		return &output.JSON{}, nil
	case "csv":
		return &output.CSV{}, nil
	case "chrome":
		return &output.Chrome{}, nil
	case "golden":
		return &output.Golden{}, nil
	case "format":
		f, err := output.NewFormat(opt.format, text)
		if err != nil {
			return nil, badValue("format", opt.format, err)
		}
		return f, nil
	}
	return text, nil
}

func eachOf(ctx context.Context, env *Env, inputs []*input, opt *dumpOptions, f func(*input, *posixtrace.Record, int64) bool) error {
	if opt.head == 0 && opt.wait == nil {
		return nil
	}
	return each(ctx, env, inputs, &opt.sel, f)
}

// lastLines keeps the last lines of a listing.
type lastLines struct {
	keep int
	buf  []byte // the line to push
	ring [][]byte
	at   int // where the oldest line is, once the ring is full
}

func (l *lastLines) push() {
	switch {
	case l.keep == 0:
	case len(l.ring) < l.keep:
		l.ring = append(l.ring, append([]byte(nil), l.buf...))
	default:
		l.ring[l.at] = append(l.ring[l.at][:0], l.buf...)
		l.at = (l.at + 1) % l.keep
	}
}

func (l *lastLines) lines() [][]byte {
	return append(append([][]byte{}, l.ring[l.at:]...), l.ring[:l.at]...)
}

// check reads everything and says what is wrong.
func check(env *Env, inputs []*input) error {
	for _, in := range inputs {
		last := int64(-1 << 63)
		for {
			rec, err := in.next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				env.Warn(failure(in.name, err))
				break
			}
			if rec.UnixNano < last {
				env.Warn(failf("%s: events are out of order", in.name))
				break
			}
			last = rec.UnixNano
		}
		env.Warn(in.verdict())
	}
	return nil
}
