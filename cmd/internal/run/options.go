package run

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
)

// runOptions is the table of options. To add one, add a row here, read it in newRunPlan
// (plan.go) and describe it in man/ptrace-run.1.
var runOptions = slices.Concat(newstream.LogOptions, []cli.Option{
	{Short: 'n', Long: "name", Arg: "NAME", Help: "name of the stream"},
	{Short: 'c', Long: "capture", Arg: "SET", Optional: true, Help: "record lines of output; SET: out, err or out,err"},
	{Long: "pty", Arg: "WHEN", Choices: []string{"auto", "yes", "no"}, Help: "capture through a pseudo-terminal (auto)"},
	{Short: 'e', Long: "events", Arg: "SET", Help: "record command (default), none, or by ptrace(2): proc, signal, files, syscall, %file ..."},
	newstream.DecodeOption,
	{Long: "stack", Help: "record call stacks; values of the environment"},
	newstream.EnvironmentOption,
	{Short: 'p', Long: "pid", Arg: "PID", Help: "attach to PID until INT; needs -e or --sample", Excludes: attachExcludes},
	{Long: "make", Help: "record a span for each line of a recipe of make"},
	{Short: 'i', Long: "inherit", Arg: "WHETHER", Choices: []string{"yes", "no"}, Help: "trace the command's children too (yes)"},
	{Short: 'x', Long: "exclude", Arg: "SET", Help: "reject these events from the start"},
	{Long: "stopped", Help: "create the stream suspended, for ptrace-ctl start"},
}, redact.PatternOptions, newstream.SizeOptions, []cli.Option{
	{Long: "dump", Arg: "WHEN", Choices: []string{"fail", "always", "never"}, Help: "without --log: print the last events (fail)"},
	{Short: 'N', Long: "last", Arg: "COUNT", Help: "how many events --dump prints (50)"},
	{Short: 't', Long: "timeout", Arg: "DUR", Help: "end the command after DUR"},
	{Short: 'k', Long: "kill-after", Arg: "DUR", Help: "kill the command if it still runs DUR later"},
	{Short: 's', Long: "signal", Arg: "SIG", Help: "end the command with SIG (TERM)"},
	{Long: "hang", Arg: "DUR", Help: "report what an idle command waits for, after DUR"},
	{Long: "sample", Arg: "DUR", Optional: true, Help: "record what the processes use, each DUR (1s)"},
	{Long: "foreground", Help: "with -t: leave the command its terminal"},
	{Long: "drain", Arg: "DUR", Help: "record background output after the end for DUR (2s)"},
	{Long: "live", Arg: "FILE", Optional: true, Help: "print events as they happen, as strace does"},
	{Long: "summary", Help: "print where the time went, why the command failed"},
	{Long: "why", Help: "print why the command failed, if it did", SameRow: true},
	{Long: "report", Arg: "FILE", Help: "write a page of the run, HTML, at the end"},
	{Long: "undeclared", Arg: "FILE", Help: "print files used outside of FILE's globs, status 1"},
	{Long: "strict", Help: "status 1 if an event was lost or the log failed"},
	{Long: relayOption, Arg: "COUNT", Hidden: true},
	{Long: monitorOption, Arg: "FD", Hidden: true},
	{Long: commandOption, Arg: "FD", Hidden: true},
	{Long: tracerOption, Arg: "FD", Hidden: true},
	{Long: tracedOption, Arg: "FD", Hidden: true},
})
