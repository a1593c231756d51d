// Package diff implements ptrace-diff: it compares two runs, or two groups of runs, by their logs.
//
// options.go has the command line, read.go reads the logs, sentence.go says in words what differs;
// text.go, table.go, markdown.go and json.go are the forms, wrap.go
// fits sentences to a terminal. Package compare finds the differences.
package diff

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

func diff(env *cli.Env, args *cli.Args) error {
	opt, err := readOptions(args)
	if err != nil {
		return err
	}
	logs, err := openLogs(env, opt.logs)
	if err != nil {
		return err
	}
	defer closeLogs(logs)
	readAll(env, logs, opt)
	noteUnmatched(env, logs, &opt.sel)
	var runs [2][]*compare.Run
	for side := range logs {
		for _, l := range logs[side] {
			runs[side] = append(runs[side], l.run)
		}
	}
	r := compare.Compare(&opt.Options, runs[compare.Old], runs[compare.New])
	s := &show{Result: r, options: opt}
	if opt.form == text || opt.form == table {
		s.width = env.Width()
		if p := env.Colors.Out; p.On {
			s.red = cli.Sequence(p.Failure)
		}
	}
	switch opt.form { // what is untrusted must not be a command of a CI runner
	case lines:
		env.Stdout.Guard(escape.JSON, false)
	case text, table, markdown:
		env.Stdout.Guard(escape.Text, true)
	}
	if opt.form == page {
		err = s.writePage(env.Stdout, logs)
	} else {
		_, err = env.Stdout.Write(s.append(nil))
	}
	if err != nil {
		return err
	}
	if err := env.Stdout.Flush(); err != nil {
		return err
	}
	for _, side := range logs {
		for _, l := range side {
			if l.fault != nil {
				return nil // reported: trouble
			}
		}
	}
	if r.Differ() {
		return cli.Exit(differStatus)
	}
	return nil
}
