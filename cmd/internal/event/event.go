// Package event is ptrace-event: it records events for shell scripts.
package event

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
	"github.com/posixtrace/posixtrace/cmd/internal/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
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
	t, err := p.target()
	if err != nil {
		return err
	}
	defer t.close()
	takeBeforeEvent(env.Getenv(spool.Env))
	defer streams.MarkSpool(env)
	switch p.source {
	case "run":
		return p.runSpan(env, t)
	case "stdin":
		var data []byte
		if data, err = readPayload(env.Stdin); err == nil {
			err = t.event(p.name, data)
		}
	case "lines":
		err = p.lines(t)
	case "batch":
		err = batch(t)
	default:
		err = t.event(p.name, []byte(strings.Join(p.rest, " ")))
	}
	if err == nil && p.require && t.refused {
		err = cli.Failf("no running stream took the event")
	}
	return err
}

// runSpan runs the command between two events. The command runs whether or not they are
// recorded.
func (p *plan) runSpan(env *cli.Env, t *target) error {
	// Several may run for one script at a time, for example under make -j.
	t.tid = os.Getpid()
	if t.process != nil {
		t.process.SetThread(t.tid)
	}
	caught := signals.NewForwarder()
	errBegin := t.event(p.name+".begin", nil)
	streams.MarkSpool(env) // for shells that the command starts
	c, err := child.Start(p.rest, os.Environ(), [3]int{0, 1, 2})
	if err != nil {
		status := cli.AsFault(err).Status
		t.event(p.name+".end", strconv.AppendInt(nil, int64(status), 10))
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
	errEnd := t.event(p.name+".end", strconv.AppendInt(nil, int64(child.ExitStatus(status)), 10))
	streams.MarkSpool(env)
	if err := cmp.Or(errBegin, errEnd); err != nil {
		env.Note(cli.Reason(err))
	}
	if status.Signaled() {
		signals.DieBy(status.Signal())
	}
	if p.require && t.refused && status.ExitStatus() == 0 {
		return cli.Failf("no running stream took the event")
	}
	return cli.Exit(status.ExitStatus())
}

// target is where events go: to the streams that trace a process, or to one stream on
// behalf of the process.
type target struct {
	pid     int
	tid     int // 0 for pid
	process *posixtrace.Process
	stream  *posixtrace.Stream
	rec     *posixtrace.Recorder
	ids     map[string]posixtrace.EventID
	refused bool // no stream took an event
}

// target connects to the streams. An untraced script is no error; a stream or process that
// the command line names must exist.
func (p *plan) target() (t *target, err error) {
	t = &target{pid: p.pid, ids: map[string]posixtrace.EventID{}}
	if t.pid == 0 {
		t.pid = process.Script()
	}
	if p.stream != "" {
		if t.stream, err = streams.Attach(p.stream); err != nil {
			return nil, err
		}
		t.rec, err = t.stream.Recorder()
		return t, cli.Failure(p.stream, err)
	}
	t.process, err = posixtrace.OpenProcess(t.pid)
	if err != nil {
		t.process = nil
		if p.pid != 0 {
			return nil, cli.Failure(strconv.Itoa(p.pid), err)
		}
	}
	if path := os.Getenv("PTRACE_STREAM"); p.pid == 0 && path != "" && (t.process == nil || !slices.Contains(t.process.Streams(), path)) {
		t.actForSelf(path)
	}
	return t, nil
}

// actForSelf makes this process the one to act for if the stream in $PTRACE_STREAM traces
// this process and not the script. This happens when the script became this process: a
// shell may run its last command without a fork, and a command may be traced without a
// script around it.
func (t *target) actForSelf(stream string) {
	self, err := posixtrace.OpenProcess(os.Getpid())
	if err != nil {
		return
	}
	if !slices.Contains(self.Streams(), stream) {
		self.Close()
		return
	}
	if t.process != nil {
		t.process.Close()
	}
	t.process, t.pid = self, os.Getpid()
}

// event records one event. Its error concerns the name only.
func (t *target) event(name string, data []byte) error {
	id, err := t.id(name)
	if err != nil {
		return err
	}
	if !t.record(id, data) {
		t.refused = true
	}
	return nil
}

func (t *target) record(id posixtrace.EventID, data []byte) bool {
	switch {
	case t.rec != nil:
		return t.rec.Record(posixtrace.EventInfo{ID: id, PID: t.pid, TID: cmp.Or(t.tid, t.pid)}, data)
	case t.process != nil:
		return t.process.Event(id, data) > 0
	}
	return false
}

// id returns the id of an event name, or 0 without a stream.
func (t *target) id(name string) (id posixtrace.EventID, err error) {
	if id, ok := t.ids[name]; ok {
		return id, nil
	}
	switch {
	case t.stream != nil:
		id, err = t.stream.EventID(name)
	case t.process != nil && len(t.process.Streams()) > 0:
		id, err = t.process.OpenEventID(name)
	default:
		return 0, nil
	}
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return 0, cli.Failf("event name of more than %d bytes", posixtrace.EventNameMax)
	case err != nil:
		// The process or the stream is gone: no stream takes the event.
		return 0, nil
	case id.System():
		return 0, cli.Failf("%s: the name of a system event", name)
	}
	if len(t.ids) >= posixtrace.UserEventMax {
		clear(t.ids)
	}
	t.ids[name] = id
	return id, nil
}

func (t *target) close() {
	if t.rec != nil {
		t.rec.Close()
	}
	if t.stream != nil {
		t.stream.Close()
	}
	if t.process != nil {
		t.process.Close()
	}
}

// maxPayload bounds the data that is read from standard input for one event; sensible
// streams keep less.
const maxPayload = 1 << 20

// readPayload reads data to its end and returns the start of it. It reads the rest so that
// the writer gets no broken pipe.
func readPayload(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPayload))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return data, cli.Failure("standard input", err)
}
