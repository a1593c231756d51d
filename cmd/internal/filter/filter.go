// Package filter implements ptrace-filter: it shows and changes the event types that a stream
// rejects, and filters logs.
package filter

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Command is ptrace-filter.
var Command = &cli.Command{
	Name:  "ptrace-filter",
	Usage: "[OPTION]... [STREAM]\n[OPTION]... -i LOG -o LOG",
	Brief: "Show or change which event types a stream rejects. This is about POSIX Trace, not ptrace(2).",
	Options: []cli.Option{
		{Short: 'S', Long: "stream", Arg: "STREAM", Help: "the stream (default: the operand, $PTRACE_STREAM)", Excludes: cli.Excludes("input")},
		{Short: 'l', Long: "list", Help: "list all known types, marked '-' if rejected", Excludes: cli.Excludes("output")},
		{Short: 'x', Long: "add", Arg: "SET", Help: "also reject SET"},
		{Short: 'd', Long: "sub", Arg: "SET", Help: "accept SET again"},
		{Short: 's', Long: "set", Arg: "SET", Help: "reject exactly SET"},
		{Long: "only", Arg: "SET", Help: "accept only SET"},
		{Short: 'r', Long: "reset", Help: "reject nothing"},
		{Short: 'n', Long: "dry-run", Help: "print the result and change nothing"},
		{Short: 'i', Long: "input", Arg: "LOG", Help: "filter the events of a log; - is standard input", Needs: cli.Need{AnyOf: []string{"output", "list", "dry-run"}, Text: "--input without --output; - is standard output"}},
		{Short: 'o', Long: "output", Arg: "LOG", Help: "write them to a new log; - is standard output", Needs: cli.Need{AnyOf: []string{"input"}, Text: "--output without --input"}},
	},
	After: `A filter rejects the types it holds. Changes apply from left to right, as one
event. SET is a list of names, globs, @user, @system and @all; globs also apply
to names registered later. Without a change the filter is printed.

Examples: ptrace-filter -S ci -x 'http.*' -d http.error
          ptrace-filter -i run.trace -o run.trace -x 'output.*'
`,
	Run: filter,
}

func filter(env *cli.Env, args *cli.Args) error {
	ops, sets, err := filterOps(args)
	if err != nil {
		return err
	}
	if args.Has("input") {
		return filterLog(env, args, ops, selection.Asked(sets...))
	}
	names, err := streams.Operands(env, args, false)
	if err != nil {
		return err
	}
	s, err := streams.Attach(names[0])
	if err != nil {
		if streams.IsLog(names[0]) {
			err = cli.WithHint(err, "`ptrace-filter -i "+names[0]+" -o NEW` writes a log without the rejected events")
		}
		return err
	}
	defer s.Close()
	if set := secrets(s); set != nil {
		env.Conceal = set.String
		ops = set.FilterOps(ops)
	}
	dry := args.Has("dry-run")
	if len(ops) > 0 && !dry {
		if err := selection.Filter(s, ops); err != nil {
			return streams.Named(names[0], err)
		}
		streams.MarkSpool(env)
	}
	if len(ops) > 0 && !dry && !args.Has("list") {
		return nil
	}
	set, err := s.Filter()
	if err != nil {
		return streams.Named(names[0], err)
	}
	types, err := s.EventTypes()
	if err != nil {
		return streams.Named(names[0], err)
	}
	if dry {
		for _, op := range ops {
			applyFilterOp(&set, op, types)
		}
	}
	var b []byte
	if args.Has("list") {
		for _, t := range types {
			mark := byte(' ')
			if set.Has(t.ID) {
				mark = '-'
			}
			b = append(catalog.AppendType(append(b, mark, ' '), t.Name), '\n')
		}
	} else {
		byID := func(id posixtrace.EventID) string {
			name, _ := s.EventName(id)
			return catalog.TypeOrNumber(name, id)
		}
		for _, name := range catalog.TypesOfSet(byID, &set) {
			b = append(catalog.AppendType(b, name), '\n')
		}
	}
	env.Stdout.Guard(escape.Text, true)
	_, err = env.Stdout.Write(b)
	return err
}

// filterOps returns the filter operations of the options, in command line order, and their sets.
func filterOps(args *cli.Args) (ops []posixtrace.FilterOp, sets []*selection.EventSet, err error) {
	for _, g := range args.Given {
		var set selection.EventSet
		switch g.Name {
		case "add", "sub", "set", "only":
			if set, err = selection.ParseEvents(g.Value); err != nil {
				return nil, nil, err
			}
			sets = append(sets, &set)
		}
		switch g.Name {
		case "add":
			ops = append(ops, set.Op(posixtrace.FilterAdd))
		case "sub":
			ops = append(ops, set.Op(posixtrace.FilterSub))
		case "set":
			ops = append(ops, set.Op(posixtrace.FilterSet))
		case "only":
			ops = append(ops, posixtrace.FilterOp{How: posixtrace.FilterSet, Set: selection.Classes(true, true)}, set.Op(posixtrace.FilterSub))
		case "reset":
			ops = append(ops, posixtrace.FilterOp{How: posixtrace.FilterSet})
		}
	}
	return ops, sets, nil
}

// applyFilterOp changes a set as FilterOps changes the filter of a stream that has these
// types.
func applyFilterOp(set *posixtrace.EventSet, op posixtrace.FilterOp, types []posixtrace.EventType) {
	members := selection.EventSet{Classes: op.Set, Patterns: op.Patterns}
	change := op.Set
	for _, t := range types {
		if members.Has(t.ID, t.Name) {
			change.Add(t.ID)
		}
	}
	switch op.How {
	case posixtrace.FilterSet:
		*set = change
	case posixtrace.FilterAdd:
		set.Union(change)
	case posixtrace.FilterSub:
		set.Subtract(change)
	}
}
