// Package dump is ptrace-dump.
package dump

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Command is ptrace-dump, the analyzer: it reads streams and logs.
var Command = &cli.Command{
	Name:  "ptrace-dump",
	Usage: "[OPTION]... [LOG|STREAM]...",
	Brief: "List the events of trace logs and active trace streams. This is about POSIX Trace, not ptrace(2).",
	Options: []cli.Option{
		{Short: 'S', Long: "stream", Arg: "STREAM", Help: "read this active stream (else the operands, else $PTRACE_STREAM)"},
		{Short: 'j', Long: "json", Help: "one JSON object for each event"},
		{Long: "csv", Help: "comma-separated values, with a line of column names first"},
		{Long: "table", Help: "a table, as wide as the terminal"},
		{Long: "chrome", Help: "trace-event JSON for timeline viewers; NAME.begin to NAME.end is a slice"},
		{Long: "format", Arg: "FMT", Help: "text as FMT says: %t time, %D delta, %p pid, %i tid, %n name, %d data, %x data in hexadecimal, %a address, %c class, %q number, %k span, %K parent span, %% \\n \\t"},
		{Long: "golden", Help: "text, or with -j JSON, that is the same each time a program does the same: P1, T1 for processes and threads, no times; also with --format"},
		{Long: "mask", Arg: "WHAT", Help: "with --golden: replace what varies in data, a regular expression, @tmp, @pid or @date; may be repeated"},
		{Long: "annotate", Arg: "STYLE", Choices: []string{"rel", "abs", "delta"}, Help: "captured output, with a time before each line: rel, abs or delta"},
		{Long: "replay", Arg: "SPEED", Help: "take the time that it took, divided by SPEED; captured output, if no other form is asked for"},
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
		{Long: "cursor", Arg: "FILE", Help: "show what came after the last event shown, and remember that in FILE; consumes nothing"},
		{Long: "rewind", Help: "with --cursor: start again from the oldest event"},
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

// dumpModes are what ptrace-dump does instead of listing events.
var dumpModes = []string{"summary", "attributes", "status", "types", "check"}

// dumpOptions is what the options of ptrace-dump come to.
type dumpOptions struct {
	mode   string // of dumpModes, or "" for a listing
	form   string // of formOptions, or "" for text
	format string
	style  output.TimeStyle
	masks  []output.Mask
	sel    selection
	head   int // -1: no limit
	last   int // -1: all
	follow bool
	peek   bool
	strict bool
	speed  float64 // 0: as fast as can be
	cursor string
	rewind bool
}

// json reports whether a mode is to write JSON.
func (o *dumpOptions) json() bool { return o.form == "json" }

func dump(env *cli.Env, args *cli.Args) error {
	opt, err := readDumpOptions(args)
	if err != nil {
		return err
	}
	// A fault in the format is told before anything is opened.
	if _, _, err := newForm(env, opt); err != nil {
		return err
	}
	timeout, err := args.Duration("timeout", 0)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if args.Has("timeout") {
		if !opt.follow {
			return cli.Usagef("--timeout is for --follow and --wait-for")
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	out := &sink{env: env}
	inputs, err := openInputs(env, args, opt, out)
	if err != nil {
		return err
	}
	defer closeInputs(inputs)
	var interrupted func() os.Signal
	if opt.follow {
		ctx, interrupted = signals.CatchInterrupts(ctx)
	}
	if opt.cursor != "" {
		c, err := openCursors(opt.cursor, opt.rewind, inputs)
		if err != nil {
			return err
		}
		out.saved = c.save
	}
	switch opt.mode {
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
	if interrupted != nil {
		if sig := interrupted(); sig != nil {
			env.Stdout.Flush()
			signals.DieBy(sig.(syscall.Signal))
		}
	}
	if err == nil || cli.AsFault(err).Silent {
		noteUnmatched(env, inputs, &opt.sel)
	}
	if err != nil {
		return err
	}
	// The other modes show the loss themselves, or nothing of the events.
	if opt.mode == "" || opt.mode == "check" || opt.strict {
		for _, in := range inputs {
			in.tellLoss(env, opt.strict)
		}
	}
	return nil
}

func readDumpOptions(args *cli.Args) (opt *dumpOptions, err error) {
	opt = &dumpOptions{
		format: args.Value("format"),
		follow: args.Has("follow") || args.Has("wait-for"),
		peek:   args.Has("peek"),
		strict: args.Has("strict"),
		cursor: args.Value("cursor"),
		rewind: args.Has("rewind"),
	}
	if opt.form, err = readForm(args); err != nil {
		return nil, err
	}
	for _, v := range args.All("mask") {
		if !strings.HasPrefix(opt.form, "golden") {
			return nil, cli.Usagef("--mask is for --golden")
		}
		m, err := output.NewMask(v)
		if err != nil {
			return nil, cli.BadValue("mask", v, err)
		}
		opt.masks = append(opt.masks, m)
	}
	style := args.Value("time")
	if opt.form == "annotate" {
		if style != "" {
			return nil, cli.Usagef("--time and --annotate exclude each other")
		}
		if style = args.Value("annotate"); style == "" {
			style = "none"
		}
	}
	switch style {
	case "abs":
		opt.style = output.AbsoluteTime
	case "delta":
		opt.style = output.DeltaTime
	case "none":
		opt.style = output.NoTime
	}
	if opt.head, err = args.Count("head", -1); err != nil {
		return nil, err
	}
	if opt.last, err = args.Count("last", -1); err != nil {
		return nil, err
	}
	if v, ok := args.Lookup("replay"); ok {
		if opt.speed, err = parseSpeed(v); err != nil {
			return nil, cli.BadValue("replay", v, err)
		}
	}
	if opt.sel, err = readSelection(args); err != nil {
		return nil, err
	}
	if opt.form == "annotate" && opt.sel.include == nil {
		opt.sel.include = &eventset.Set{Classes: outputEvents()}
	}
	if err := opt.readMode(args); err != nil {
		return nil, err
	}
	opt.sel.hideFlushMarks = opt.hidesFlushMarks()
	switch {
	case opt.follow && args.Has("last"):
		return nil, cli.Usagef("--last and --follow exclude each other")
	case opt.follow && args.Has("replay"):
		return nil, cli.Usagef("--replay and --follow exclude each other")
	case opt.rewind && !args.Has("cursor"):
		return nil, cli.Usagef("--rewind is for --cursor")
	case args.Has("cursor") && opt.cursor == "":
		return nil, cli.BadValue("cursor", "", errors.New("not a file"))
	case opt.cursor != "" || opt.speed > 0:
		opt.peek = true // events are to be there the next time, and until they are due
	}
	return opt, nil
}

// hidesFlushMarks reports whether the output leaves out flush marks unless --events
// selects them: text and summaries do, JSON, CSV and exports have all events.
func (o *dumpOptions) hidesFlushMarks() bool {
	if o.mode != "" {
		return o.mode == "summary"
	}
	switch o.form {
	case "", "table", "format", "golden", "golden format":
		return true
	}
	return false
}

// readMode finds the mode, and refuses what goes with listings only.
func (o *dumpOptions) readMode(args *cli.Args) error {
	for _, m := range dumpModes {
		if !args.Has(m) {
			continue
		}
		if o.mode != "" {
			return cli.Usagef("--%s and --%s exclude each other", o.mode, m)
		}
		o.mode = m
	}
	if o.mode == "" {
		return nil
	}
	for _, f := range formOptions {
		if args.Has(f) && f != "json" && f != "table" {
			return cli.Usagef("--%s and --%s exclude each other", f, o.mode)
		}
	}
	for _, not := range []string{"follow", "wait-for", "cursor", "replay"} {
		if args.Has(not) {
			return cli.Usagef("--%s and --%s exclude each other", o.mode, not)
		}
	}
	o.peek = true
	return nil
}

// outputEvents are the types of captured output.
func outputEvents() (set posixtrace.EventSet) {
	set.Add(posixtrace.EventOutputStdout)
	set.Add(posixtrace.EventOutputStderr)
	return set
}

// looksLikePath reports whether an operand can only be a file.
func looksLikePath(s string) bool { return strings.Contains(s, "/") }
