// Package create implements ptrace-create: it creates active streams.
package create

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Command is ptrace-create.
var Command = &cli.Command{
	Name:    "ptrace-create",
	Usage:   "[OPTION]... [NAME]",
	Brief:   "Create an active trace stream and print its name. This is about POSIX Trace, not ptrace(2).",
	Options: options,
	After: `A stream without a log stays readable after the process has ended, until it is
shut down or a new stream needs its room. A stream with a log has a keeper in
the background, which completes the log when the process ends, when the stream
is shut down, or on TERM.

Examples: eval "$(ptrace-create --export -s ci)"
          ptrace-create -s -p "$PID" -o server.trace server
`,
	Run: create,
	OnFailure: func(env *cli.Env) {
		// The shell that evaluates the output does not see our exit status.
		end := slices.Index(env.Args, "--")
		if end < 0 {
			end = len(env.Args)
		}
		if slices.ContainsFunc(env.Args[:end], func(a string) bool { return len(a) > 4 && strings.HasPrefix("--export", a) }) {
			env.Stdout.WriteString("false\n")
		}
	},
}

var options = slices.Concat([]cli.Option{
	{Short: 'p', Long: "pid", Arg: "PID", Help: "trace this process (default: the calling script)"},
	{Short: 'e', Long: "events", Arg: "SET", Help: "also record, by ptrace(2): proc, signal, files, syscall, syscall.NAME, %file ...", Needs: cli.Need{AnyOf: []string{"pid"}, Text: "--events needs --pid"}},
	newstream.DecodeOption,
	newstream.StackOption,
	newstream.EnvironmentOption,
}, newstream.LogOptions, []cli.Option{
	{Short: 'i', Long: "inherit", Arg: "WHETHER", Choices: []string{"yes", "no"}, Help: "trace the process's children too (yes)"},
	{Short: 'x', Long: "exclude", Arg: "SET", Help: "reject these events from the start"},
	{Short: 's', Long: "start", Help: "start recording at once"},
}, redact.PatternOptions, newstream.SizeOptions, []cli.Option{
	{Long: "export", Help: "print code that exports PTRACE_STREAM, for eval"},
	{Long: "foreground", Help: "stay, and shut the stream down on INT or TERM"},
	{Long: "keeper", Arg: "PROCESS", Hidden: true},
	{Long: tracerOption, Arg: "FD", Hidden: true},
})

// plan is a parsed command line of ptrace-create.
type plan struct {
	target     procfs.Process
	attr       posixtrace.Attr
	filter     []posixtrace.FilterOp
	log        string
	sync       bool
	start      bool
	export     bool
	foreground bool
	trace      tracer.Want
	tracer     *tracer.Tracer // of the running process, or nil
	redact     *redact.Set    // nil for none
	name       string         // of the stream, if it had a secret
}

func newPlan(env *cli.Env, args *cli.Args) (_ *plan, err error) {
	var set *redact.Set
	if !args.Has("keeper") { // which receives them
		if set, err = redact.ReadPatterns(env, args); err != nil {
			return nil, err
		}
	}
	log := args.Value("log")
	attr, err := newstream.Attributes(args, log != "")
	if err != nil {
		return nil, err
	}
	filter, err := newstream.Filter(args)
	if err != nil {
		return nil, err
	}
	p := &plan{
		attr:       attr,
		filter:     filter,
		log:        log,
		sync:       args.Has("sync"),
		start:      args.Has("start"),
		export:     args.Has("export"),
		foreground: args.Has("foreground"),
		redact:     set,
	}
	p.attr.Exclusive = true
	switch {
	case len(args.Operands) > 1:
		return nil, cli.Usagef("extra operand '%s'", args.Operands[1])
	case len(args.Operands) == 1:
		p.attr.Name = args.Operands[0]
		if err := streams.CheckName(p.attr.Name); err != nil {
			return nil, err
		}
	}
	if args.Has("events") {
		if p.trace, _, err = newstream.Events(args); err == nil {
			err = newstream.Attachable(args, &p.trace)
		}
		if err != nil {
			return nil, err
		}
	}
	if args.Has("log") && p.log == "" {
		return nil, cli.Usagef("invalid argument '' for '--log'")
	}
	if p.log == "-" {
		return nil, cli.Usagef("a log cannot be written to standard output; to read it while it is written: -o >(ptrace-dump -j -)")
	}
	if v, ok := args.Lookup("keeper"); ok {
		if p.target, err = procfs.Parse(v); err != nil {
			return p, errKeeperOnly
		}
		return p, p.receivePatterns(args)
	}
	var pid int
	pid, err = args.PID("pid", 0)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		pid = procfs.Script()
	}
	if p.trace.Any() {
		if err := newstream.CheckAttach(pid); err != nil {
			return nil, err
		}
	}
	p.target, err = procfs.Identify(pid)
	return p, err
}

func create(env *cli.Env, args *cli.Args) error {
	switch {
	case args.Has(tracerOption):
		return serveTracer(args)
	case args.Has("keeper"):
		return keep(env, args)
	}
	p, err := newPlan(env, args)
	if err != nil {
		return err
	}
	p.conceal(env)
	if err := newstream.CheckNameFree(p.attr.Name); err != nil {
		return err
	}
	if p.log != "" && !p.foreground {
		made, err := startKeeper(env, args, p)
		if err != nil {
			return err
		}
		return announce(env, p, made, func() {
			if s, err := posixtrace.Attach(made.path); err == nil {
				s.Shutdown()
			}
		})
	}
	var log *logfile.File
	if p.log != "" {
		if log, err = logfile.Open(p.log, args.Has("no-clobber")); err != nil {
			return err
		}
	}
	caught := catchSignals(p.foreground)
	var s *posixtrace.Stream
	var made made
	cli.Waiting(caught, func() { s, made, err = p.create(env, log) }, log.Discard)
	if err != nil {
		log.Discard()
		return err
	}
	undo := func() { s.Shutdown() }
	if p.foreground {
		if err := announce(env, p, made, undo); err != nil {
			return err
		}
		return cli.Failure(made.name, p.keepAlive(s, caught))
	}
	if err := s.Handover(p.target.PID); err != nil {
		undo()
		return p.explain(err)
	}
	defer s.Close()
	return announce(env, p, made, undo)
}

// made describes the created stream.
type made struct {
	name, path string
	notes      []string // further notes for the user
}

// create creates the stream, and starts it if the plan says so.
func (p *plan) create(env *cli.Env, log *logfile.File) (*posixtrace.Stream, made, error) {
	s, err := p.createNamed(log)
	if err != nil {
		return nil, made{}, p.explain(err)
	}
	m, err := p.configure(env, s, log)
	if err != nil {
		s.Shutdown()
		return nil, made{}, p.explain(err)
	}
	return s, m, nil
}

// createNamed creates the stream under the name of the plan, or else under a free name made
// from the target's.
func (p *plan) createNamed(log *logfile.File) (*posixtrace.Stream, error) {
	if p.attr.Name != "" {
		return p.createStream(log)
	}
	base := p.name
	if base == "" {
		base = p.redact.String(p.target.Command())
	}
	base = newstream.NameFor(base)
	for n := 1; ; n++ {
		// A stream may outlive its process, so the name may be taken although the pid is free.
		if p.attr.Name = base; n > 1 {
			p.attr.Name += "-" + strconv.Itoa(n)
		}
		if streams.Paths(p.attr.Name) != "" {
			continue
		}
		s, err := p.createStream(log)
		if !errors.Is(err, syscall.EEXIST) {
			return s, err
		}
		// Another process was faster: try the next name.
	}
}

func (p *plan) createStream(log *logfile.File) (*posixtrace.Stream, error) {
	if log == nil {
		return posixtrace.Create(p.target.PID, &p.attr)
	}
	p.attr.HoldLog = log.Held
	return posixtrace.CreateWithLog(p.target.PID, &p.attr, log.File)
}

// configure sets up a new stream and starts it if the plan says so.
func (p *plan) configure(env *cli.Env, s *posixtrace.Stream, log *logfile.File) (m made, err error) {
	// The process may have ended since we identified it, and its pid may belong to another
	// process.
	if !p.target.Alive() {
		return m, syscall.ESRCH
	}
	if len(p.filter) > 0 {
		if err := selection.Filter(s, p.redact.FilterOps(p.filter)); err != nil {
			return m, err
		}
	}
	if p.sync {
		if err := s.SetSync(true); err != nil {
			return m, err
		}
	}
	info, err := s.Info()
	if err != nil {
		return m, err
	}
	spoolPath := ""
	if p.export || p.redact != nil {
		spoolPath = streams.OpenSpool(s, p.log != "" || p.foreground)
	}
	if err := p.publishPatterns(info.Path, spoolPath); err != nil {
		return m, err
	}
	var notes []string
	switch {
	case p.trace.Any():
		notes, err = p.attach(env.Prog, s, info.Path)
	case p.start:
		err = s.Start()
	}
	if err != nil {
		return m, err
	}
	if p.export && spoolPath != "" && p.start {
		spool.Mark(spoolPath) // a shell with a coarse clock may date its first event before the START
	}
	m = made{info.Name, info.Path, append(newstream.RoomNotes(s, &p.attr), notes...)}
	return m, log.Begin(s)
}

// explain returns an error of the creation in the user's terms.
func (p *plan) explain(err error) error {
	var fault *cli.Fault
	switch {
	case errors.As(err, &fault):
		return fault
	case p.trace.Any() && errors.Is(err, syscall.EPERM):
		return newstream.AttachFault(p.target.PID, err)
	case errors.Is(err, posixtrace.ErrDirectory):
		return cli.AsFault(err)
	case errors.Is(err, syscall.ESRCH):
		return cli.Failf("process %d: %s", p.target.PID, cli.Strerror(syscall.ESRCH))
	case errors.Is(err, syscall.EEXIST):
		return newstream.NameInUse(p.attr.Name)
	case errors.Is(err, syscall.ESTALE):
		return cli.WithHint(cli.Failf("process %d: the trace directory was removed while it ran", p.target.PID), "start it again to trace it")
	case errors.Is(err, syscall.EPERM):
		return cli.Failf("process %d: %s", p.target.PID, cli.Strerror(syscall.EPERM))
	case errors.Is(err, syscall.EAGAIN):
		return cli.WithHint(cli.Failf("too many streams"), "`ptrace-ctl list` shows them; `ptrace-ctl list --stale -q` the stale ones")
	case p.log != "":
		return logfile.Fault(p.log, err)
	case p.attr.Name != "":
		return cli.Failure(p.attr.Name, err)
	}
	return cli.Failure("", err)
}

// announce prints what the caller needs to use the stream, and calls undo if that fails.
func announce(env *cli.Env, p *plan, m made, undo func()) error {
	for _, note := range m.notes {
		env.Note(note)
	}
	if p.export {
		env.Stdout.WriteString("export PTRACE_STREAM=" + cli.ShellQuote(m.path) + "\n")
		if path := spool.Path(m.path); path != "" {
			env.Stdout.WriteString("export PTRACE_SPOOL=" + cli.ShellQuote(path) + "\n_pt_fast=\n")
		} else {
			env.Stdout.WriteString("export PTRACE_SPOOL=\n")
		}
	} else {
		env.Stdout.WriteString(m.name + "\n")
	}
	err := env.Stdout.Flush()
	if err != nil {
		undo()
	}
	return err
}
