package export

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp/send"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
)

// Command is ptrace-export.
var Command = &cli.Command{
	Name:    "ptrace-export",
	Usage:   "--to=FORMAT -o DEST [OPTION]... LOG...\n--to=otlp --endpoint=URL [OPTION]... LOG...",
	Brief:   "Write trace logs (- is stdin) for other systems (POSIX Trace, not ptrace(2)).",
	Options: optionTable,
	After: `Formats: ctf      Common Trace Format 1.8, a new directory, for babeltrace2
         otlp     lines of OTLP/JSON, for the OpenTelemetry Collector
         parquet  Apache Parquet: a file, or one for each log in DIR/
         compile-commands  the compilers that ran: compile_commands.json
Status: 0 done; 1 failed, or a log is incomplete or damaged; 2 usage error.

Examples: ptrace-export --to=ctf -o build.ctf build.trace; babeltrace2 build.ctf
`,
	Run: export,
}

var optionTable = slices.Concat([]cli.Option{
	{Long: "to", Arg: "FORMAT", Choices: formatNames(), Help: "write this format: " + strings.Join(formatNames(), ", ")},
	{Short: 'o', Long: "output", Arg: "DEST", Help: "write to DEST"},
	{Long: "endpoint", Arg: "URL", Help: "otlp: send to a collector, http://HOST:4318"},
	{Long: "spool", Arg: "DIR", Help: "keep in DIR what could not be sent, and send it first"},
	{Long: "timeout", Arg: "DURATION", Help: "send for at most this time, with retries (5s)"},
	{Long: "strict", Help: "fail if not all could be sent"},
	{Short: 'e', Long: "events", Arg: "SET", Help: "export only these: names, globs, @user, @system, @all"},
	{Short: 'x', Long: "exclude", Arg: "SET", Help: "do not export these events"},
	{Short: 'p', Long: "pid", Arg: "PID", Help: "export only events of this process"},
	{Short: 'T', Long: "tid", Arg: "TID", Help: "export only events of this thread"},
	{Long: "since", Arg: "TIME", Help: "export events from, before: RFC 3339, HH:MM:SS, -30s"},
	{Long: "until", Arg: "TIME", Help: "export events before this time", SameRow: true},
}, redact.PatternOptions)

// format is a format of the output.
type format struct {
	name    string
	options []string // of those that not all formats have
	check   func(opt *options, args *cli.Args) error
	write   func(j *job) error
}

// formats returns the formats, in the order of the help.
func formats() []format {
	return []format{
		{name: "ctf", check: needDirectory, write: writeCTF},
		{name: "otlp", options: []string{"endpoint", "spool", "timeout", "strict"}, check: needFileOrEndpoint, write: writeOTLP},
		{name: "parquet", check: needFile, write: writeParquet},
		{name: "compile-commands", check: needFile, write: writeCompileCommands},
	}
}

func formatNames() (names []string) {
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// options is a parsed command line.
type options struct {
	format *format
	dest   string
	sel    selection.Selection
	logs   []string
	text   string // of the selection
	redact *redact.Set

	sends    bool // to an endpoint: --endpoint, or else that of the environment
	endpoint string
	spool    string
	timeout  time.Duration
	strict   bool
}

func readOptions(env *cli.Env, args *cli.Args) (opt *options, err error) {
	set, err := redact.ReadPatterns(env, args)
	if err != nil {
		return nil, err
	}
	opt = &options{redact: set, logs: args.Operands, dest: args.Value("output")}
	all := formats()
	i := slices.IndexFunc(all, func(f format) bool { return f.name == args.Value("to") })
	switch {
	case i < 0:
		return nil, cli.Usagef("missing option --to=FORMAT; formats: %s", strings.Join(formatNames(), ", "))
	case len(opt.logs) == 0:
		return nil, cli.Usagef("missing operand: no log")
	case slices.Contains(opt.logs, ""):
		return nil, cli.Usagef("the name of a log is empty")
	}
	if i := slices.Index(opt.logs, "-"); i >= 0 && slices.Contains(opt.logs[i+1:], "-") {
		return nil, cli.Usagef("only one log can be standard input")
	}
	opt.format = &all[i]
	if err := checkOptions(all, opt.format, args); err != nil {
		return nil, err
	}
	if err := opt.format.check(opt, args); err != nil {
		return nil, err
	}
	for _, g := range args.Given {
		if slices.Contains([]string{"events", "exclude", "pid", "tid", "since", "until"}, g.Name) {
			opt.text += g.Name + "=" + g.Value + "\x00"
		}
	}
	if opt.sel, err = selection.Read(env, args); err != nil {
		return nil, err
	}
	return opt, nil
}

// checkOptions refuses options that only other formats have.
func checkOptions(all []format, of *format, args *cli.Args) error {
	for _, g := range args.Given {
		var having []string
		for _, f := range all {
			if slices.Contains(f.options, g.Name) {
				having = append(having, "--to="+f.name)
			}
		}
		if len(having) > 0 && !slices.Contains(of.options, g.Name) {
			return cli.Usagef("--%s needs %s", g.Name, strings.Join(having, " or "))
		}
	}
	return nil
}

// needDirectory checks the name of a directory.
func needDirectory(opt *options, args *cli.Args) error {
	switch {
	case !args.Has("output"):
		return cli.Usagef("missing option -o DEST")
	case opt.dest == "":
		return cli.Usagef("the name of the output is empty")
	case opt.dest == "-":
		return cli.Usagef("--to=%s makes a directory, which standard output cannot be", opt.format.name)
	}
	return nil
}

// needFileOrEndpoint checks where lines or requests go: to a file, a directory, standard output, or an
// endpoint.
func needFileOrEndpoint(opt *options, args *cli.Args) (err error) {
	for _, name := range []string{"endpoint", "spool"} {
		if v, ok := args.Lookup(name); ok && v == "" {
			return cli.Usagef("the value of --%s is empty", name)
		}
	}
	opt.endpoint, opt.spool, opt.strict = args.Value("endpoint"), args.Value("spool"), args.Has("strict")
	if opt.timeout, err = args.Duration("timeout", 5*time.Second); err != nil {
		return err
	}
	opt.sends = opt.endpoint != "" || !args.Has("output") && send.HasEndpoint(os.Getenv)
	switch {
	case opt.endpoint != "" && args.Has("output"):
		return cli.Usagef("--endpoint and --output exclude each other")
	case opt.sends:
		return nil
	case !args.Has("output"):
		return cli.Usagef("missing option -o DEST or --endpoint=URL")
	case opt.dest == "":
		return cli.Usagef("the name of the output is empty")
	}
	for _, name := range []string{"spool", "timeout", "strict"} {
		if args.Has(name) {
			return cli.Usagef("--%s is for --endpoint", name)
		}
	}
	return nil
}

// needFile checks the name of a file, a directory, or standard output.
func needFile(opt *options, args *cli.Args) error {
	switch {
	case !args.Has("output"):
		return cli.Usagef("missing option -o DEST")
	case opt.dest == "":
		return cli.Usagef("the name of the output is empty")
	}
	return nil
}
