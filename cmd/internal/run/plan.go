package run

import (
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// runPlan is the parsed command line of ptrace-run.
type runPlan struct {
	argv      []string
	attach    int // this running process instead, or 0
	attr      posixtrace.Attr
	filter    []posixtrace.FilterOp
	log       string // path, "" for none
	noClobber bool
	sync      bool // sync the log to its device
	stopped   bool
	command   bool // record proc.exec and proc.exit of the command
	trace     tracer.Want
	capture   capturePlan
	sample    time.Duration // between samples, 0 for none
	limit     timeLimit
	hang      time.Duration // report a command that is idle for so long; 0: never
	stack     bool          // with the stacks of its threads
	dump      string        // fail, always, never
	last      int
	summary   bool
	why       int    // the lines of --why, 0 for none
	report    string // path, "" for none
	live      livePlan
	strict    bool
	declared  *files.Declared // nil without --undeclared
	redact    *redact.Set     // nil for none
	name      string          // of the stream, if it had a secret
}

func newRunPlan(env *cli.Env, args *cli.Args) (*runPlan, error) {
	set, err := redact.ReadPatterns(env, args)
	if err != nil {
		return nil, err
	}
	p := &runPlan{
		argv:      args.Operands,
		log:       args.Value("log"),
		noClobber: args.Has("no-clobber"),
		sync:      args.Has("sync"),
		stopped:   args.Has("stopped"),
		dump:      "fail",
		stack:     args.Has("stack"),
		summary:   args.Has("summary"),
		report:    args.Value("report"),
		strict:    args.Has("strict"),
		redact:    set,
	}
	if len(p.argv) == 0 && !args.Has("pid") {
		return nil, cli.Usagef("missing operand")
	}
	if v, ok := args.Lookup("undeclared"); ok {
		if p.declared, err = files.OpenDeclared(v); err != nil {
			return nil, err
		}
		args = withFiles(args)
	}
	if args.Has("log") && p.log == "" {
		return nil, cli.Usagef("invalid argument '' for '--log'")
	}
	if args.Has("report") && p.report == "" {
		return nil, cli.Usagef("invalid argument '' for '--report'")
	}
	if p.report != "" && p.log != "" && filepath.Clean(p.report) == filepath.Clean(p.log) {
		return nil, cli.Usagef("--report and --log name the same file")
	}
	if args.Has("why") {
		p.why, p.dump = summary.UsualWhy, "never"
	}
	if v, ok := args.Lookup("dump"); ok {
		p.dump = v
	}
	if p.attr, err = newstream.Attributes(args, p.log != ""); err != nil {
		return nil, err
	}
	if p.filter, err = newstream.Filter(args); err != nil {
		return nil, err
	}
	for _, step := range []func(*cli.Args) error{p.setEvents, p.setLive, p.setSample, p.setAttach, p.setLimit, p.setCapture} {
		if err := step(args); err != nil {
			return nil, err
		}
	}
	if p.trace.Make && p.attr.Inheritance != posixtrace.InheritChildren {
		return nil, cli.Usagef("--make records the children of the command; --inherit=no does not")
	}
	if p.last, err = args.Count("last", 50); err != nil {
		return nil, err
	}
	p.name = newstream.Conceal(&p.attr, p.redact.String)
	return p, nil
}

func (p *runPlan) setLimit(args *cli.Args) (err error) {
	l := &p.limit
	l.signal, l.foreground = unix.SIGTERM, args.Has("foreground")
	if l.limit, err = args.Duration("timeout", 0); err != nil {
		return err
	}
	if l.killAfter, err = args.Duration("kill-after", 0); err != nil {
		return err
	}
	if p.hang, err = args.Duration("hang", 0); err != nil {
		return err
	}
	if s, ok := args.Lookup("signal"); ok {
		l.signal, err = parseSignal(s)
	}
	return err
}

func (p *runPlan) setCapture(args *cli.Args) (err error) {
	c := &p.capture
	if c.drain, err = args.Duration("drain", 2*time.Second); err != nil {
		return err
	}
	c.pty = args.Value("pty")
	set, ok := args.Lookup("capture")
	if !ok {
		return nil
	}
	if set == "" {
		c.out, c.err = true, true
		return nil
	}
	c.apart = true
	for _, item := range strings.Split(set, ",") {
		switch item {
		case "out":
			c.out = true
		case "err":
			c.err = true
		default:
			return cli.Usagef("invalid argument '%s' for '--capture'; a set of out, err", set)
		}
	}
	if c.pty == "yes" {
		return cli.Usagef("--pty=yes records standard output and error together; --capture=%s does not", set)
	}
	return nil
}

// reportsLoss reports whether lost events are worth a message: they are unless
// the user asked for a window on the last ones.
func (p *runPlan) reportsLoss() bool {
	if p.strict {
		return true
	}
	return p.log != "" && p.attr.LogFullPolicy != posixtrace.PolicyLoop && p.attr.StreamFullPolicy != posixtrace.PolicyLoop
}
