package dump

import (
	"path/filepath"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/view"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// views are the modes that show single commands and spans.
var views = []string{"tree", "timeline", "folded", "junit"}

const (
	// maxIntervals bounds the number of commands and spans: about 200 bytes each.
	maxIntervals = 1 << 18
	// maxCases bounds the number of test cases.
	maxCases = 1 << 17
)

// writeView reads the inputs and writes their commands and spans.
func writeView(env *cli.Env, inputs []*input, opt *options) error {
	limit, out := maxIntervals, (*view.Output)(nil)
	if opt.mode == "junit" {
		limit, out = maxCases, view.NewOutput()
	}
	b := analysis.NewBuilder(limit)
	l := analysis.Limits{Each: b.Add}
	if out != nil {
		b.Last = analysis.SpanKind
		l.Each = func(iv *analysis.Interval) {
			b.Add(iv)
			out.Keep(iv)
		}
	}
	a := analysis.New(l)
	if err := readIntervals(env, inputs, opt, a, out); err != nil {
		return err
	}
	a.Finish()
	r := &view.Run{Tree: b.Tree(a), Analysis: a}
	for _, in := range inputs {
		unsound := ""
		if err := in.soundness(); err != nil && opt.head < 0 {
			env.Warn(err)
			unsound = cli.AsFault(err).Text
		}
		r.Unsound = append(r.Unsound, unsound)
		if st, err := in.status(); err == nil {
			r.Lost += st.Lost + st.LogLost
		}
		r.Names = append(r.Names, filepath.Base(in.name))
	}
	_, err := env.Stdout.Write(appendView(env, r, opt, out))
	return err
}

// readIntervals adds the events of the inputs to an analysis.
func readIntervals(env *cli.Env, inputs []*input, opt *options, a *analysis.Analysis, out *view.Output) error {
	w, err := newWalk(env, inputs, opt)
	if err != nil {
		return err
	}
	sources := map[*input]*analysis.Source{}
	printing := map[*input]*printingSource{}
	for i, in := range inputs {
		sources[in] = a.NewSource(in.typeName)
		printing[in] = &printingSource{sources[in], i, out}
	}
	switch {
	case out != nil:
		return walkEvents(w, printing)
	case w.countable() && countEvents(w, sources):
		return nil
	}
	return walkEvents(w, sources)
}

// printingSource is a source whose captured output is kept, too.
type printingSource struct {
	*analysis.Source
	index int
	out   *view.Output
}

// Add adds events.
func (s *printingSource) Add(recs []posixtrace.Record) {
	for i := range recs {
		s.out.Add(s.index, &recs[i])
		s.Source.Add(recs[i : i+1])
	}
}

// appendView appends what the mode selects.
func appendView(env *cli.Env, r *view.Run, opt *options, out *view.Output) []byte {
	switch opt.mode {
	case "folded":
		return view.AppendFolded(nil, r)
	case "junit":
		return view.AppendJUnit(nil, r, out)
	}
	o := &view.Options{Top: opt.show.Top, ASCII: !utf8Locale(env.Getenv)}
	o.Width, o.Height = env.Size(env.Stdout.Dest())
	if p := env.Colors.Out; p.On {
		o.Red, o.Bold = cli.Sequence(p.Failure), cli.Sequence(p.Strong)
	}
	if opt.mode == "tree" {
		return view.AppendTree(nil, r, o)
	}
	if o.Width == 0 {
		o.Width = env.Columns()
	}
	return view.AppendTimeline(nil, r, o)
}

// utf8Locale reports whether the locale's characters are UTF-8.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
