package command

import (
	"context"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
)

// Dump is ptrace-dump, the analyzer: it reads streams and logs.
var Dump = &Command{
	Name:  "ptrace-dump",
	Usage: "[OPTION]... [LOG|STREAM]...",
	Brief: "List the events of trace logs and active trace streams. This is about POSIX Trace, not ptrace(2).",
	Options: []Option{
		{Short: 'S', Long: "stream", Arg: "STREAM", Help: "read this active stream (else the operands, else $PTRACE_STREAM)"},
		{Short: 'j', Long: "json", Help: "one JSON object for each event"},
		{Long: "csv", Help: "comma-separated values, with a line of column names first"},
		{Long: "chrome", Help: "trace-event JSON for timeline viewers; NAME.begin to NAME.end is a slice"},
		{Long: "format", Arg: "FMT", Help: "text as FMT says: %t time, %D delta, %p pid, %i tid, %n name, %d data, %x data in hexadecimal, %a address, %c class, %q number, %% \\n \\t"},
		{Long: "golden", Help: "text that is the same each time a program does the same: P1, T1 for processes and threads, no times"},
		{Long: "time", Arg: "STYLE", Choices: []string{"rel", "abs", "delta", "none"}, Help: "times in text: rel (seconds since the first event), abs, delta or none"},
		{Short: 'e', Long: "events", Arg: "SET", Help: "only these events: names, globs, @user, @system, @all"},
		{Short: 'x', Long: "exclude", Arg: "SET", Help: "all but these events"},
		{Short: 'p', Long: "pid", Arg: "PID", Help: "only events of this process"},
		{Short: 'T', Long: "tid", Arg: "TID", Help: "only events of this thread"},
		{Long: "since", Arg: "TIME", Help: "only events from then on: RFC 3339, HH:MM:SS, +1.5s from the first event, -30s from the last"},
		{Long: "until", Arg: "TIME", Help: "only events before then"},
		{Long: "head", Arg: "N", Help: "only the first N events"},
		{Short: 'N', Long: "last", Arg: "N", Help: "only the last N events"},
		{Short: 'f', Long: "follow", Help: "go on as events are recorded, until the stream ends"},
		{Long: "timeout", Arg: "DUR", Help: "follow no longer than this"},
		{Short: 'w', Long: "wait-for", Arg: "SET", Help: "follow until one of these events: status 0; 1 if time or stream ends first"},
		{Long: "peek", Help: "never consume the events of a stream without log"},
		{Short: 's', Long: "summary", Help: "counts and rates of event types, durations of spans (NAME.begin to NAME.end)"},
		{Short: 'a', Long: "attributes", Help: "the attributes of the stream"},
		{Long: "status", Help: "the status of the stream"},
		{Long: "types", Help: "the event types of the stream"},
		{Long: "check", Help: "verify the whole log and say what is wrong"},
		{Long: "strict", Help: "status 1 if any event was lost"},
	},
	After: "Listing and following a stream without log consumes its events; everything else\n" +
		"leaves them. LOG may be - for standard input.",
	Run: dump,
}

// dumpOptions is what the options of ptrace-dump come to.
type dumpOptions struct {
	form   string // json, csv, chrome, format, golden, or "" for text
	format string
	json   bool // of modes that have one other form only
	style  output.TimeStyle
	sel    selection
	head   int // -1: no limit
	last   int // -1: all
	follow bool
	wait   *EventSet
	peek   bool
	strict bool
}

func dump(env *Env, args *Args) error {
	opt, err := readDumpOptions(args)
	if err != nil {
		return err
	}
	mode := ""
	for _, m := range []string{"summary", "attributes", "status", "types", "check"} {
		if !args.Has(m) {
			continue
		}
		if mode != "" {
			return usagef("--%s and --%s exclude each other", mode, m)
		}
		mode = m
	}
	if mode != "" {
		if opt.follow {
			return usagef("--%s and --follow exclude each other", mode)
		}
		if opt.form != "" && opt.form != "json" {
			return usagef("--%s and --%s exclude each other", opt.form, mode)
		}
		opt.peek = true
	}
	timeout, err := args.Duration("timeout", 0)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if args.Has("timeout") {
		if !opt.follow {
			return usagef("--timeout is for --follow and --wait-for")
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	out := &sink{env: env}
	inputs, err := env.openInputs(args, opt, out)
	if err != nil {
		return err
	}
	defer closeInputs(inputs)
	switch mode {
	case "summary":
		err = summarise(env, inputs, opt)
	case "attributes":
		err = showEach(env, inputs, opt, attributeFields)
	case "status":
		err = showEach(env, inputs, opt, inputStatusFields)
	case "types":
		err = showTypes(env, inputs, opt)
	case "check":
		err = check(env, inputs)
	default:
		err = list(ctx, env, inputs, opt, out)
	}
	if err != nil {
		return err
	}
	// The other modes show the loss themselves, or nothing of the events.
	if mode == "" || mode == "check" || opt.strict {
		for _, in := range inputs {
			in.tellLoss(env, opt.strict)
		}
	}
	return nil
}

func readDumpOptions(args *Args) (*dumpOptions, error) {
	opt := &dumpOptions{
		json:   args.Has("json"),
		follow: args.Has("follow") || args.Has("wait-for"),
		peek:   args.Has("peek"),
		strict: args.Has("strict"),
	}
	for _, form := range []string{"json", "csv", "chrome", "format", "golden"} {
		if !args.Has(form) {
			continue
		}
		if opt.form != "" {
			return nil, usagef("--%s and --%s exclude each other", opt.form, form)
		}
		opt.form = form
	}
	opt.format = args.Value("format")
	if _, err := newForm(opt, nil); err != nil {
		return nil, err
	}
	switch args.Value("time") {
	case "abs":
		opt.style = output.AbsoluteTime
	case "delta":
		opt.style = output.DeltaTime
	case "none":
		opt.style = output.NoTime
	}
	var err error
	if opt.head, err = args.Count("head", -1); err != nil {
		return nil, err
	}
	if opt.last, err = args.Count("last", -1); err != nil {
		return nil, err
	}
	if opt.last >= 0 && opt.follow {
		return nil, usagef("--last and --follow exclude each other")
	}
	if set, ok, err := args.EventSet("wait-for"); err != nil {
		return nil, err
	} else if ok {
		opt.wait = &set
	}
	opt.sel, err = readSelection(args)
	return opt, err
}

// looksLikePath reports whether an operand can only be a file.
func looksLikePath(s string) bool { return strings.Contains(s, "/") }
