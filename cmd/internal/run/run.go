// Package run is ptrace-run.
package run

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
)

// Command is ptrace-run.
var Command = &cli.Command{
	Name:  "ptrace-run",
	Usage: "[OPTION]... [--] COMMAND [ARG]...",
	Brief: "Run COMMAND wrapped in a trace stream, with the same output and status as without it. " +
		"Without --log, keep the last events in memory and show them if COMMAND fails.",
	Options:       runOptions,
	StopAtOperand: true,
	FailStatus:    child.StatusOwn,
	UsageStatus:   child.StatusOwn,
	After: `Exit status: that of COMMAND; 124 timed out (137 killed after a time-out);
125 ptrace-run failed; 126 COMMAND cannot be executed; 127 it is not found. If a
signal kills COMMAND, it kills ptrace-run, too.

Examples: ptrace-run -c -o build.trace -- make -j8
          ptrace-run -t 10m ./flaky-test
`,
	Run: func(env *cli.Env, args *cli.Args) error {
		switch {
		case args.Has(relayOption):
			pipes, err := args.Count(relayOption, 0)
			if err == nil {
				capture.Relay(pipes)
			}
			return err
		case args.Has(monitorOption):
			return monitor(args)
		case args.Has(tracerOption):
			control, err := args.Count(tracerOption, 0)
			if err == nil && !tracer.Serve(control) {
				err = cli.Usagef("option '--%s' is for the command's own use", tracerOption)
			}
			return err
		case args.Has(commandOption):
			return becomeCommand(args)
		}
		p, err := newRunPlan(args)
		if err != nil {
			return err
		}
		return p.run(env)
	},
}

var relayOption = strings.TrimPrefix(capture.RelayFlag, "--")
