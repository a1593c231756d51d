// Package dump implements ptrace-dump: it lists and summarises the events of streams and logs.
package dump

import (
	"context"
	"os"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/symbols"
)

// Command is ptrace-dump.
var Command = &cli.Command{
	Name:    "ptrace-dump",
	Usage:   "[OPTION]... [LOG|STREAM]...",
	Brief:   "List the events of trace logs (- is stdin) and streams (POSIX, not ptrace(2)).",
	Options: optionTable,
	After: `Examples: ptrace-dump -j --since=-10s build.trace | jq -r .event
`,
	Run: dump,
}

func dump(env *cli.Env, args *cli.Args) error {
	opt, err := readOptions(env, args)
	if err != nil {
		return err
	}
	opt.guard(env.Stdout)
	// Report an invalid format before anything is opened.
	if _, _, err := newForm(env, opt); err != nil {
		return err
	}
	timeout, err := args.Duration("timeout", 0)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if args.Has("timeout") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	out := &sink{env: env}
	piped := !args.Has("stream") && readsPipes(args.Operands)
	if piped {
		cli.OutlastFirst()
	}
	inputs, err := openInputs(env, args, opt, out)
	if err != nil {
		return err
	}
	defer closeInputs(inputs)
	if opt.sel.maps {
		table := symbols.NewTable()
		for _, in := range inputs {
			in.nameAddresses(table, opt)
		}
	}
	var interrupted func() os.Signal
	if opt.follow && !piped {
		ctx, interrupted = cli.CatchInterrupts(ctx)
	}
	if opt.cursor != "" {
		c, err := openCursors(opt.cursor, opt.rewind, inputs)
		if err != nil {
			return err
		}
		out.saved = c.save
	}
	err = show(ctx, env, inputs, opt, out)
	if interrupted != nil {
		if sig := interrupted(); sig != nil {
			env.Stdout.Flush()
			cli.DieBy(sig.(syscall.Signal))
		}
	}
	for _, in := range inputs {
		if l, ok := in.source.(*fileLog); ok {
			l.endReading() // the notes use the reader
		}
	}
	if err == nil || cli.AsFault(err).Silent {
		noteUnmatched(env, inputs, &opt.sel)
		noteOutside(env, inputs, opt)
	}
	reportRedacted(env, inputs, opt)
	if err != nil {
		return err
	}
	// The other modes show the loss themselves, or show no events.
	if slices.Contains([]string{"", "check", "folded", "junit", "commands"}, opt.mode) || opt.strict {
		for _, in := range inputs {
			in.reportLoss(env, opt.strict)
		}
	}
	return nil
}

// readsPipes reports whether all operands are pipes or sockets.
func readsPipes(operands []string) bool {
	for _, name := range operands {
		st, err := os.Stdin.Stat()
		if name != "-" {
			st, err = os.Stat(name)
		}
		if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
			return false
		}
	}
	return len(operands) > 0
}

// show writes what the mode selects.
func show(ctx context.Context, env *cli.Env, inputs []*input, opt *options, out *sink) error {
	switch opt.mode {
	case "summary":
		return summarise(env, inputs, opt)
	case "why":
		return explain(env, inputs, opt)
	case "html":
		return writePage(env, inputs, opt)
	case "tree", "timeline", "folded", "junit":
		return writeView(env, inputs, opt)
	case "files", "history", "unused", "dot", "races", "undeclared":
		return showFiles(env, inputs, opt)
	case "commands":
		return writeCommands(env, inputs, opt)
	case "attributes":
		return showEach(env, inputs, opt, inputAttributes)
	case "status":
		return showEach(env, inputs, opt, inputStatusFields)
	case "types":
		return showTypes(env, inputs, opt)
	case "check":
		return check(env, inputs)
	}
	return list(ctx, env, inputs, opt, out)
}
