// Package run implements ptrace-run: it creates a stream, runs a command that is traced to it, and
// completes the log or shows the last events.
//
// options.go is the table of options, plan.go reads the command line into a runPlan. A
// session is one run of the plan: session.go creates the stream, execute.go starts the
// command and waits for it, finish.go and dump.go end the run.
//
// attach.go is the run without a command, attached to a process that runs already.
//
// What a session adds to the command has a file each: capture.go the pipes for its output,
// trace.go the tracer of its processes, timeout.go the time limit, hang.go what its threads wait for, idle.go --hang, sample.go the samples, spool.go the spool for
// shells. console.go is the pseudo-terminal of a captured command, with its job control, keys
// and modes in the console_ files; the command is then the child of a monitor: monitor.go
// explains the processes, monitored.go is the monitor's, become.go the one that becomes the
// command, link.go their messages.
package run

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// Command is ptrace-run.
var Command = &cli.Command{
	Name:  "ptrace-run",
	Usage: "[OPTION]... [--] COMMAND [ARG]...\n-p PID -e SET [OPTION]...",
	Brief: "Run COMMAND in a trace stream; its output and status stay the same. " +
		"Without --log, keep the last events in memory and show them if COMMAND fails.",
	Options:       runOptions,
	StopAtOperand: true,
	FailStatus:    child.StatusOwn,
	UsageStatus:   child.StatusOwn,
	After: `Exit status: that of COMMAND; 124 timed out (137 killed after a time-out);
125 ptrace-run failed; 126 COMMAND cannot be executed; 127 it is not found. If a
signal kills COMMAND, it kills ptrace-run, too.

Examples: ptrace-run -c -o build.trace -- make -j8
          ptrace-run -p "$PID" -e syscall -o server.trace
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
		p, err := newRunPlan(env, args)
		if err != nil {
			return err
		}
		return p.run(env)
	},
}

var relayOption = strings.TrimPrefix(capture.RelayFlag, "--")
