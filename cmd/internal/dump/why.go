package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// readWhy reads the number of lines of --why.
func readWhy(args *cli.Args) (int, error) {
	v, ok := args.Lookup("why")
	if !ok || v == "" {
		return summary.UsualWhy, nil
	}
	n, err := args.Count("why", 0)
	if err == nil && n < summary.LeastWhy {
		err = cli.Usagef("invalid argument '%s' for '--why'; at least %d lines", v, summary.LeastWhy)
	}
	return n, err
}

// explain reads the inputs and writes why their commands failed, or took so long.
func explain(env *cli.Env, inputs []*input, opt *options) error {
	w := summary.NewWhy()
	if err := readIntervals(env, inputs, opt, w.Analysis, nil); err != nil {
		return err
	}
	o := &summary.WhyOptions{Lines: opt.why, JSON: opt.json(), Logs: operands(inputs, opt)}
	var lost uint64
	for _, in := range inputs {
		if err := in.soundness(); err != nil && opt.head < 0 {
			env.Warn(err)
			o.Unsound = append(o.Unsound, cli.AsFault(err).Text)
		}
		if st, err := in.status(); err == nil {
			lost += st.Lost + st.LogLost
		}
	}
	o.Width, _ = env.Size(env.Stdout.Dest())
	_, err := env.Stdout.Write(w.Append(nil, lost, o))
	return err
}

// operands returns the words of a command line that name the inputs, nil if one cannot be read again.
func operands(inputs []*input, opt *options) (list []string) {
	for _, in := range inputs {
		if in.again == "" {
			return nil
		}
		list = append(list, opt.redact.String(in.again))
	}
	return list
}
