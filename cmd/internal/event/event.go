// Package event implements ptrace-event: it records events for shell scripts.
package event

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/destination"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Command is ptrace-event.
var Command = &cli.Command{
	Name:  "ptrace-event",
	Usage: "[OPTION]... NAME [DATA]...\n[OPTION]... -r NAME COMMAND [ARG]...",
	Brief: "Record the event NAME on behalf of the calling script. If no stream traces the script, nothing happens and the status is 0.",
	Options: append([]cli.Option{
		{Short: 'S', Long: "stream", Arg: "STREAM", Help: "record in this stream, whichever process it traces"},
		{Short: 'p', Long: "pid", Arg: "PID", Help: "act for this process (default: the script)"},
		{Short: 'B', Long: "begin", Help: "record NAME.begin", Excludes: cli.Excludes("end")},
		{Short: 'E', Long: "end", Help: "record NAME.end"},
		{Short: 'r', Long: "run", Help: "record NAME.begin, run COMMAND, record NAME.end with its status; exit like COMMAND", Excludes: source("run", "stdin", "lines", "batch")},
		{Long: "stdin", Help: "take the data from standard input", Excludes: cli.Excludes("lines", "batch")},
		{Long: "lines", Arg: "tee", Optional: true, Choices: []string{"tee"}, Help: "record one event per line of standard input; tee: also copy it to standard output", Excludes: source("lines", "batch")},
		{Long: "batch", Help: "record one event per line 'NAME TAB DATA' of input", Excludes: source("batch")},
		{Long: "require", Help: "status 1 if no running stream recorded the event"},
	}, shellOptions...),
	StopAtOperand: true,
	After: `DATA operands are joined by one space.

Examples: ptrace-event deploy.start "rev=$REV"
          ptrace-event -r build make -j8
          some-server 2>&1 | ptrace-event --lines=tee server.log
`,
	Run: func(env *cli.Env, args *cli.Args) error {
		if done, err := shellFunctions(env, args); done {
			return err
		}
		p, err := newPlan(args)
		if err != nil {
			return err
		}
		return p.run(env)
	},
}

// source returns the exclusions of an option that selects the source of events: other
// sources, and --begin and --end, which make one event of a pair.
func source(name string, others ...string) []cli.Exclusion {
	pair := cli.Exclusion{Options: []string{"begin", "end"}, Text: "--" + name + " does not go with --begin and --end"}
	return append(cli.Excludes(others...), pair)
}

// plan is a parsed command line of ptrace-event.
type plan struct {
	name    string   // with .begin or .end
	rest    []string // DATA, or COMMAND and its arguments
	stream  string   // "" for the streams that trace the process
	pid     int      // 0 for the script
	source  string   // of the data: stdin, lines, batch, "" for the operands; run for a command
	tee     bool
	require bool
	secrets secrets
}

func newPlan(args *cli.Args) (p *plan, err error) {
	p = &plan{require: args.Has("require"), tee: args.Value("lines") == "tee"}
	for _, source := range []string{"run", "stdin", "lines", "batch"} {
		if args.Has(source) {
			p.source = source
		}
	}
	p.rest = args.Operands
	if p.pid, err = args.PID("pid", 0); err != nil {
		return nil, err
	}
	if s, ok := args.Lookup("stream"); ok {
		if !strings.Contains(s, "/") {
			if err := streams.CheckName(s); err != nil {
				return nil, err
			}
		}
		p.stream = s
	}
	if p.source == "batch" {
		return p, p.check()
	}
	if len(p.rest) == 0 {
		return nil, cli.Usagef("missing operand: the event's NAME")
	}
	p.name, p.rest = p.rest[0], p.rest[1:]
	if p.name == "" {
		return nil, cli.Usagef("empty event name")
	}
	switch {
	case args.Has("begin"):
		p.name += ".begin"
	case args.Has("end"):
		p.name += ".end"
	}
	return p, p.check()
}

// check reports contradictions of the plan.
func (p *plan) check() error {
	longest := p.name
	switch p.source {
	case "batch", "lines", "stdin":
		if len(p.rest) > 0 {
			return cli.Usagef("extra operand '%s': the data comes from standard input", p.rest[0])
		}
	case "run":
		if len(p.rest) == 0 {
			return cli.Usagef("missing operand: COMMAND")
		}
		longest += ".begin"
	}
	if len(longest) > posixtrace.EventNameMax {
		return cli.Usagef("event name of more than %d bytes", posixtrace.EventNameMax)
	}
	return nil
}

// run records the events.
func (p *plan) run(env *cli.Env) error {
	if p.source != "" && p.source != "run" {
		outlast()
	}
	t, err := p.target()
	if err != nil {
		return err
	}
	defer t.Close()
	p.secrets = redactFor(t)
	defer p.secrets.close()
	if p.secrets != nil {
		env.Conceal = p.secrets.string
	}
	takeBeforeEvent(env.Getenv(spool.Env))
	defer streams.MarkSpool(env)
	switch p.source {
	case "run":
		return p.runSpan(env, t)
	case "stdin":
		var data []byte
		var cut bool
		if data, cut, err = readPayload(env.Stdin); err == nil {
			err = t.CutEvent(p.name, data, cut)
		}
	case "lines":
		err = p.lines(t)
	case "batch":
		err = batch(t)
	default:
		err = t.Event(p.name, []byte(strings.Join(p.rest, " ")))
	}
	if err == nil && p.require && t.Refused {
		err = cli.Failf("no running stream took the event")
	}
	return err
}

// runSpan runs the command between two events. The command runs whether or not they are
// recorded.
func (p *plan) runSpan(env *cli.Env, t *destination.Target) error {
	// Several may run for one script at a time, for example under make -j.
	t.SetThread(os.Getpid())
	caught := cli.NewForwarder()
	environ := contextEnv(env, t)
	errBegin := t.Event(p.name+".begin", nil)
	streams.MarkSpool(env) // for shells that the command starts
	c, err := child.Start(p.rest, &child.Attr{Env: environ, Files: [3]int{0, 1, 2}})
	if err != nil {
		status := cli.AsFault(err).Status
		t.Event(p.name+".end", strconv.AppendInt(nil, int64(status), 10))
		if status == child.StatusNotFound && (strings.HasPrefix(p.rest[0], "-") || child.IsCommand(p.name)) {
			err = cli.WithHint(err, "NAME comes first: ptrace-event -r NAME COMMAND [ARG]...")
		}
		return err
	}
	caught.Forward(c.Signal)
	status, _, err := c.Wait()
	caught.Stop()
	if err != nil {
		return cli.Failure(p.rest[0], err)
	}
	takeBeforeEvent(env.Getenv(spool.Env))
	errEnd := t.Event(p.name+".end", strconv.AppendInt(nil, int64(child.ExitStatus(status)), 10))
	streams.MarkSpool(env)
	if err := cmp.Or(errBegin, errEnd); err != nil {
		env.Note(cli.Reason(err))
	}
	if status.Signaled() {
		p.secrets.close()
		cli.DieBy(status.Signal())
	}
	if p.require && t.Refused && status.ExitStatus() == 0 {
		return cli.Failf("no running stream took the event")
	}
	return cli.Exit(status.ExitStatus())
}

// target connects to the streams. An untraced script is no error; a stream or process that
// the command line names must exist.
func (p *plan) target() (*destination.Target, error) {
	switch {
	case p.stream != "":
		s, err := streams.Attach(p.stream)
		if err != nil {
			return nil, err
		}
		pid := p.pid
		if pid == 0 {
			pid = procfs.Script()
		}
		t, err := destination.Stream(s, pid)
		return t, cli.Failure(p.stream, err)
	case p.pid != 0:
		t, err := destination.Process(p.pid)
		return t, cli.Failure(strconv.Itoa(p.pid), err)
	}
	return destination.Script(), nil
}

// maxPayload bounds the data that is read from standard input for one event; sensible
// streams keep less.
const maxPayload = 1 << 20

// readPayload reads data to its end and returns the start of it, and whether that is not all. It reads
// the rest so that the writer gets no broken pipe.
func readPayload(r io.Reader) (data []byte, cut bool, err error) {
	data, err = io.ReadAll(io.LimitReader(r, maxPayload))
	if err == nil {
		var rest int64
		rest, err = io.Copy(io.Discard, r)
		cut = rest > 0
	}
	return data, cut, inputFault(err)
}
