package dump

import (
	"errors"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var optionTable = slices.Concat([]cli.Option{
	{Short: 'S', Long: "stream", Arg: "STREAM", Help: "read this stream (default: $PTRACE_STREAM)"},
}, formOptions(), []cli.Option{
	{Long: "string-size", Arg: "N", Help: "--strace: show N bytes of each string (32)", Needs: cli.Needs("strace")},
	{Long: "mask", Arg: "WHAT", Help: "--golden: mask data: REGEXP, @tmp, @pid or @date", Needs: cli.Needs("golden")},
	{Long: "replay", Arg: "SPEED", Help: "replay at SPEED times the recorded rate", Excludes: cli.Excludes("follow", "wait-for")},
	{Long: "symbols", Help: "show addresses as function (file:line), call stacks", Excludes: cli.Excludes(slices.Concat(formsBut("json", "format"), modes, []string{"markdown"})...)},
	{Long: "stack", SameRow: true, Help: "show the call stacks that ptrace-run --stack recorded", Excludes: cli.Excludes(slices.Concat(formsBut("json", "strace"), modes, []string{"markdown"})...)},
	{Long: "time", Arg: "STYLE", Choices: []string{"rel", "abs", "unix", "delta", "none"}, Help: "times: rel (the default), abs, unix, delta, none", Excludes: cli.Excludes("annotate")},
	{Short: 'e', Long: "events", Arg: "SET", Help: "show only these: names, globs, @user, @system, @all"},
	{Short: 'x', Long: "exclude", Arg: "SET", Help: "do not show these events"},
	{Short: 'p', Long: "pid", Arg: "PID", Help: "show only events of this process"},
	{Short: 'T', Long: "tid", Arg: "TID", Help: "show only events of this thread"},
	{Long: "failed", Help: "show only what failed; calls on PATH, or a glob"},
	{Long: "path", SameRow: true, Arg: "PATH", Help: "show only system calls on PATH, or a glob"},
	{Long: "slower-than", Arg: "DUR", Help: "show only calls, commands, spans that took longer"},
	{Long: "since", Arg: "TIME", Help: "show events from, before: RFC 3339, HH:MM:SS, -30s"},
	{Long: "until", Arg: "TIME", Help: "show events before this time", SameRow: true},
	{Long: "head", Arg: "N", Help: "show only the first, or the last, N events"},
	{Short: 'N', Long: "last", Arg: "N", Help: "show only the last N events", Excludes: cli.Excludes("follow", "wait-for"), SameRow: true},
	{Short: 'f', Long: "follow", Help: "show events as they are recorded"},
	{Long: "timeout", Arg: "DUR", Help: "follow no longer than DUR", Needs: cli.Needs("follow", "wait-for")},
	{Short: 'w', Long: "wait-for", Arg: "SET", Help: "follow until one of these events; else status 1"},
	{Long: "cursor", Arg: "FILE", Help: "show events since the last run with this FILE"},
	{Long: "rewind", Help: "--cursor: start again from the oldest event", Needs: cli.Needs("cursor")},
	{Long: "peek", Help: "keep a stream's events; status 1 if one was lost"},
	{Long: "strict", Help: "exit with status 1 if an event was lost", SameRow: true},
	{Short: 's', Long: "summary", Help: "show where the time went, as markdown", Excludes: listingAndModesAfter("summary")},
	{Long: "markdown", Help: "write the summary as markdown", Excludes: cli.Excludes(slices.Concat(formsBut("strace"), modes[1:], listing)...), SameRow: true},
	{Long: "sort", Arg: "COLUMN", Choices: summary.Columns, Help: "--summary: sort by this column", Needs: cli.Needs("summary", "markdown")},
	{Long: "top", Arg: "N", Help: "show N rows of each table or view, 0 for all", Needs: cli.Needs("summary", "markdown", "tree", "timeline", "files")},
	{Long: "why", Arg: "LINES", Optional: true, Help: "say why it failed, in LINES (25)", Excludes: append(listingAndModesAfter("why"), cli.Excludes("table")...)},
	{Long: "html", Help: "write a page; each command as a line for a shell", Excludes: append(listingAndModesAfter("html"), cli.Excludes("json", "table")...)},
	{Long: "commands", SameRow: true, Help: "write each command as a line for a shell", Excludes: append(listingAndModesAfter("commands"), cli.Excludes("path", "table")...)},
	viewOption("tree", "show processes and spans as a tree, as lanes"),
	besides(viewOption("timeline", "show processes and spans as lanes")),
	viewOption("folded", "write folded stacks for flame graphs, JUnit XML"),
	besides(viewOption("junit", "write spans as test cases, JUnit XML")),
	fileOption(cli.Option{Long: "files", Arg: "GLOB", Optional: true, Help: "show which process wrote, read each file; a graph"}),
	besides(fileOption(cli.Option{Long: "dot", Help: "write a graph of commands and files for dot(1)"})),
	fileOption(cli.Option{Long: "history", Arg: "PATH", Help: "show what processes did with a file, in order"}),
	fileOption(cli.Option{Long: "unused", Help: "show files that no other process read, races"}),
	besides(fileOption(cli.Option{Long: "races", Help: "show files that commands of one make wrote and read in no order"})),
	fileOption(cli.Option{Long: "undeclared", Arg: "FILE", Help: "show what was read, written outside of FILE's globs"}),
	{Short: 'a', Long: "attributes", Help: "show the attributes, the status of the stream", Excludes: listingAndModesAfter("attributes")},
	{Long: "status", Help: "show the status of the stream", Excludes: listingAndModesAfter("status"), SameRow: true},
	{Long: "types", Help: "show the event types; verify the whole log", Excludes: listingAndModesAfter("types")},
	{Long: "check", Help: "verify the whole log and report faults", Excludes: listingAndModesAfter("check"), SameRow: true},
}, redact.PatternOptions)

var (
	// modes are the options that select another output than a listing of events.
	modes = slices.Concat([]string{"summary", "why", "html", "commands"}, views, fileModes, []string{"attributes", "status", "types", "check"})
	// listing are the options for listings only.
	listing = []string{"follow", "wait-for", "cursor", "replay"}
)

// formOptions returns the options of output.Forms. Each excludes the forms after it in the
// table, and the modes that it does not go with.
func formOptions() (list []cli.Option) {
	for i, f := range output.Forms {
		var excludes []string
		for _, other := range output.Forms[i+1:] {
			if other.Name != "golden" || !f.Golden {
				excludes = append(excludes, other.Name)
			}
		}
		if !f.Modes {
			excludes = append(excludes, modes...)
		}
		list = append(list, cli.Option{
			Short: f.Short, Long: f.Name, Arg: f.Arg, Choices: f.Choices, Help: f.Help, Excludes: cli.Excludes(excludes...),
		})
	}
	return list
}

// formsBut returns the names of all forms without some.
func formsBut(without ...string) (list []string) {
	for _, f := range output.Forms {
		if !slices.Contains(without, f.Name) {
			list = append(list, f.Name)
		}
	}
	return list
}

// besides returns an option that shares the row of the option before it in the help.
func besides(o cli.Option) cli.Option {
	o.SameRow = true
	return o
}

// fileOption returns the option of a mode that shows what processes did with files. Beside another one, --files
// selects files.
func fileOption(o cli.Option) cli.Option {
	after := slices.Clone(modes[slices.Index(modes, o.Long)+1:])
	if i := slices.Index(after, "files"); i >= 0 && o.Long != "history" {
		after = slices.Delete(after, i, i+1)
	}
	o.Excludes = cli.Excludes(slices.Concat(after, listing, []string{"table", "failed", "slower-than", "path"})...)
	return o
}

// viewOption returns the option of a mode that shows single commands and spans.
func viewOption(mode, help string) cli.Option {
	return cli.Option{Long: mode, Help: help, Excludes: append(listingAndModesAfter(mode), cli.Excludes("json", "table")...)}
}

// listingAndModesAfter returns the exclusions of a mode: the modes after it in the list,
// and the options for listings.
func listingAndModesAfter(mode string) []cli.Exclusion {
	after := modes[slices.Index(modes, mode)+1:]
	return cli.Excludes(slices.Concat(after, listing)...)
}

// options is a parsed command line of ptrace-dump.
type options struct {
	mode   string // one of modes; "" for a listing
	form   string // one of output.Forms, "golden json" or "golden format"; "" for text
	format string
	style  output.TimeStyle
	masks  []output.Mask

	stringSize int // --strace
	sel        selects
	head       int // -1: no limit
	last       int // -1: all
	follow     bool
	peek       bool
	strict     bool
	show       summary.Options
	why        int // the lines of --why
	files      filesOptions
	speed      float64 // 0 for no delay
	cursor     string
	rewind     bool
	redact     *redact.Set
}

// json reports whether a mode writes JSON.
func (o *options) json() bool { return o.form == "json" }

func readOptions(env *cli.Env, args *cli.Args) (opt *options, err error) {
	set, err := redact.ReadPatterns(env, args)
	if err != nil {
		return nil, err
	}
	opt = &options{
		mode:   given(args, modes),
		form:   readForm(args),
		format: args.Value("format"),
		follow: args.Has("follow") || args.Has("wait-for"),
		peek:   args.Has("peek"),
		strict: args.Has("strict"),
		cursor: args.Value("cursor"),
		rewind: args.Has("rewind"),
	}
	if args.Has("markdown") {
		opt.mode, opt.show.Form = "summary", summary.Markdown
	} else if opt.json() {
		opt.show.Form = summary.JSON
	}
	if opt.why, err = readWhy(args); err != nil {
		return nil, err
	}
	if opt.files, err = readFilesOptions(args, opt.mode); err != nil {
		return nil, err
	}
	opt.show.Sort = args.Value("sort")
	if opt.show.Top, err = args.Count("top", summary.Screen); err != nil {
		return nil, err
	}
	for _, v := range args.All("mask") {
		m, err := output.NewMask(v)
		if err != nil {
			return nil, cli.BadValue("mask", v, err)
		}
		opt.masks = append(opt.masks, m)
	}
	opt.style = readStyle(args, opt.form)
	if opt.style == output.AbsoluteTime || opt.mode == "attributes" && opt.form == "" {
		env.UseZone()
	}
	if opt.stringSize, err = args.Count("string-size", 32); err != nil {
		return nil, err
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
	if opt.sel, err = readSelection(env, args); err != nil {
		return nil, err
	}
	opt.redact = set
	if opt.form == "annotate" && opt.sel.Include == nil {
		opt.sel.Include = &selection.EventSet{Classes: outputEvents()}
	}
	opt.sel.exits = opt.style == output.CostTime && !opt.sel.wants(posixtrace.EventProcExit, "proc.exit")
	opt.sel.symbols, opt.sel.stacks = withSymbols(args), args.Has("stack")
	opt.sel.maps = opt.sel.symbols || opt.sel.stacks
	opt.sel.notes = opt.mode == "" && opt.sel.Include != nil && opt.sel.Include.Names("proc.map")
	opt.sel.hideFlushMarks = opt.hidesFlushMarks()
	if args.Has("cursor") && opt.cursor == "" {
		return nil, cli.BadValue("cursor", "", errors.New("not a file"))
	}
	// Keep the events: for the next time, or until they are due.
	if opt.mode != "" || opt.cursor != "" || opt.speed > 0 {
		opt.peek = true
	}
	return opt, nil
}

// given returns the first option of names that was given, or "".
func given(args *cli.Args, names []string) string {
	if i := slices.IndexFunc(names, args.Has); i >= 0 {
		return names[i]
	}
	return ""
}

// readForm returns the form that the options select, or "" for text.
func readForm(args *cli.Args) string {
	for _, f := range output.Forms {
		switch {
		case !args.Has(f.Name):
		case f.Golden && args.Has("golden"):
			return "golden " + f.Name
		default:
			return f.Name
		}
	}
	if args.Has("replay") && !args.Has("time") {
		return "annotate" // without times
	}
	return ""
}

// readStyle returns the style of times.
func readStyle(args *cli.Args, form string) output.TimeStyle {
	style := args.Value("time")
	switch {
	case form == "annotate":
		if style = args.Value("annotate"); style == "" {
			style = "none"
		}
	case form == "strace" && style == "":
		style = "none"
	}
	switch style {
	case "abs":
		return output.AbsoluteTime
	case "unix":
		return output.UnixTime
	case "delta":
		return output.DeltaTime
	case "none":
		return output.NoTime
	case "cost":
		return output.CostTime
	}
	return output.RelativeTime
}

// hidesFlushMarks reports whether the output leaves out flush marks unless --events
// selects them: text and summaries do, JSON, CSV and exports have all events.
func (o *options) hidesFlushMarks() bool {
	if o.mode != "" {
		return o.mode == "summary" || o.mode == "why" || o.mode == "html"
	}
	name := strings.TrimPrefix(o.form, "golden ")
	return !slices.ContainsFunc(output.Forms, func(f output.FormInfo) bool { return f.Name == name && f.Marks })
}

// outputEvents returns the event types of captured output.
func outputEvents() (set posixtrace.EventSet) {
	set.Add(posixtrace.EventOutputStdout)
	set.Add(posixtrace.EventOutputStderr)
	return set
}
