package diff

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/compare"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
)

// Command is ptrace-diff.
var Command = &cli.Command{
	Name:    "ptrace-diff",
	Usage:   "[OPTION]... OLD NEW\n[OPTION]... OLD... -- NEW...",
	Groups:  true,
	Brief:   "Compare two runs, or two groups of runs, by their trace logs (POSIX Trace, not ptrace(2)).",
	Options: optionTable,
	After: `OLD and NEW are logs, or directories of logs; - is standard input, once.
Status: 0 no difference beyond the thresholds, 1 differences, 2 trouble.

Examples: ptrace-diff good.trace bad.trace || echo slower
          ptrace-diff old/*.trace -- new/*.trace
`,
	FailStatus: troubleStatus,
	Run:        diff,
}

// The exit statuses, as those of diff(1).
const (
	differStatus  = 1
	troubleStatus = 2
)

var optionTable = []cli.Option{
	{Long: "old", Arg: "LOG", Help: "log or directory of the old group; may be repeated"},
	{Long: "new", Arg: "LOG", Help: "log or directory of the new group; may be repeated"},
	{Long: "threshold", Arg: "PERCENT[,DUR]", Help: "ignore differences of times below this part, or this duration (10%,50ms)", Excludes: cli.Excludes("golden")},
	{Long: "golden", Help: "compare what happened, not how long it took"},
	{Long: "top", Arg: "N", Help: "show N differences, 0 for all (20)"},
	{Short: 'e', Long: "events", Arg: "SET", Help: "compare only these: names, globs, @user, @system, @all"},
	{Short: 'x', Long: "exclude", Arg: "SET", Help: "do not compare these events"},
	{Short: 'p', Long: "pid", Arg: "PID", Help: "compare only events of this process"},
	{Short: 'T', Long: "tid", Arg: "TID", Help: "compare only events of this thread"},
	{Short: 'j', Long: "json", Help: "write JSON, one object per line", Excludes: cli.Excludes("table", "markdown", "html")},
	{Long: "table", Help: "write a table", Excludes: cli.Excludes("markdown", "html")},
	{Long: "markdown", Help: "write markdown, for a CI step summary", Excludes: cli.Excludes("html")},
	{Long: "html", Help: "write an HTML page with both timelines"},
}

// form is a form of the output.
type form uint8

const (
	text form = iota
	table
	markdown
	lines // of JSON
	page
)

// options is a parsed command line.
type options struct {
	compare.Options
	logs [2][]string // of each side
	form form
	top  int // differences to show: all, shown, or a number
	sel  choice
}

const (
	all    = 0
	shown  = 20 // without --top
	unsaid = -1
)

func readOptions(args *cli.Args) (opt *options, err error) {
	opt = &options{Options: compare.Options{Percent: compare.DefaultPercent, Least: compare.DefaultLeast, Golden: args.Has("golden")}}
	if opt.logs, err = readLogs(args); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		form form
	}{{"json", lines}, {"table", table}, {"markdown", markdown}, {"html", page}} {
		if args.Has(f.name) {
			opt.form = f.form
		}
	}
	if opt.top, err = args.Count("top", unsaid); err != nil {
		return nil, err
	}
	if v, ok := args.Lookup("threshold"); ok {
		if err := opt.readThreshold(v); err != nil {
			return nil, cli.BadValue("threshold", v, err)
		}
	}
	opt.sel, err = readSelection(args)
	return opt, err
}

// separator stands between the groups.
const separator = "--"

// readLogs returns the operands of both sides: logs, and directories of logs.
func readLogs(args *cli.Args) (logs [2][]string, err error) {
	logs = [2][]string{args.All("old"), args.All("new")}
	if len(logs[0])+len(logs[1]) == 0 {
		if logs, err = sides(args.Operands); err != nil {
			return logs, err
		}
	} else if err := onlyOptions(logs, args.Operands); err != nil {
		return logs, err
	}
	if slices.Contains(logs[0], "") || slices.Contains(logs[1], "") {
		return logs, cli.Usagef("the name of a log is empty")
	}
	names := slices.Concat(logs[0], logs[1])
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return logs, cli.Usagef("only one log can be standard input")
	}
	return logs, nil
}

// sides divides operands: OLD NEW, or OLD... -- NEW...
func sides(operands []string) (logs [2][]string, err error) {
	if i := slices.Index(operands, separator); i >= 0 {
		logs = [2][]string{operands[:i], operands[i+1:]}
		switch {
		case i == 0:
			err = cli.Usagef("missing operand before '--': a log of the old group")
		case len(logs[1]) == 0:
			err = cli.Usagef("missing operand after '--': a log of the new group")
		case slices.Contains(logs[1], separator):
			err = cli.Usagef("extra operand '--': there are two groups")
		}
		return logs, err
	}
	switch len(operands) {
	case 0:
		return logs, cli.Usagef("missing operand: two logs")
	case 1:
		return logs, cli.Usagef("missing operand after '%s'", operands[0])
	case 2:
		return [2][]string{operands[:1], operands[1:]}, nil
	}
	return logs, cli.Usagef("extra operand '%s'; -- stands between groups of runs", operands[2])
}

// onlyOptions returns a usage error unless --old and --new name all logs.
func onlyOptions(logs [2][]string, operands []string) error {
	operands = slices.DeleteFunc(slices.Clone(operands), func(s string) bool { return s == separator })
	switch {
	case len(operands) > 0:
		return cli.Usagef("extra operand '%s': --old and --new name the logs", operands[0])
	case len(logs[0]) == 0:
		return cli.Usagef("--new needs --old")
	case len(logs[1]) == 0:
		return cli.Usagef("--old needs --new")
	}
	return nil
}

// maxLogs bounds the number of logs.
const maxLogs = 200

var errThreshold = errors.New("not a threshold; write 10%, 10%,50ms or 5%,1s")

// readThreshold reads PERCENT[,DUR].
func (o *options) readThreshold(v string) error {
	percent, duration, both := strings.Cut(v, ",")
	f, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	if err != nil || !(f >= 0 && f <= 1e6) || strings.Trim(percent, "0123456789.%") != "" {
		return errThreshold
	}
	o.Percent = f
	if !both {
		return nil
	}
	d, err := cli.ParseDuration(duration)
	if err != nil {
		return err
	}
	o.Least = d
	return nil
}

// readSelection reads the options that select events.
func readSelection(args *cli.Args) (s choice, err error) {
	for _, o := range []struct {
		name string
		set  **selection.EventSet
	}{{"events", &s.include}, {"exclude", &s.exclude}} {
		set, ok, err := selection.FromOption(args, o.name)
		if err != nil {
			return s, err
		}
		if ok {
			*o.set = &set
		}
	}
	if s.pids, err = args.IDs("pid"); err != nil {
		return s, err
	}
	if s.tids, err = args.IDs("tid"); err != nil {
		return s, err
	}
	return s, nil
}
