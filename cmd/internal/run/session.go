package run

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// run executes the plan.
func (p *runPlan) run(env *cli.Env) error {
	p.conceal()
	if p.attach != 0 {
		return p.follow(env)
	}
	s := &session{plan: p, env: env}
	s.startTracer()
	if err := s.create(); err != nil {
		return err
	}
	status, err := s.execute()
	s.makefile.remove()
	if err != nil {
		s.stream.Shutdown()
		return err
	}
	s.end = output.EndPhrase(status.ExitStatus(), max(0, int(status.Signal())))
	if p.limit.timedOut {
		s.end = summary.TimedOut(int64(p.limit.limit))
	}
	final := p.limit.status(status)
	if final == 0 && s.outputLost {
		// Without ptrace-run, the command would have got the write error.
		final = child.StatusOwn
	}
	// A command whose reader closed the pipe, as in "... | head", has not failed.
	readerClosed := status.Signaled() && status.Signal() == syscall.SIGPIPE
	lost := s.finish(final != 0 && !readerClosed)
	switch {
	case status.Signaled() && final == child.ExitStatus(status) && !p.limit.timedOut:
		if s.term != nil {
			s.term.killJob(status.Signal())
		}
		cli.DieBy(status.Signal())
	case final == 0 && (p.strict && lost || s.outside):
		final = 1
	}
	return cli.Exit(final)
}

// session is one run of a command.
type session struct {
	plan        *runPlan
	env         *cli.Env
	stream      *posixtrace.Stream
	rec         *posixtrace.Recorder
	log         *logfile.File // nil without a log
	child       *child.Process
	term        *console       // the command's pseudo-terminal, or nil
	tracer      *tracer.Tracer // of the command's processes, or nil
	tracerFault error          // why starting the tracer failed
	started     int64          // time of the command's start
	end         string         // how it ended, in words
	machine     procfs.Machine // at that time
	signals     *cli.Forwarder // of the signals for the command

	context    tracecontext.Found // of the command
	makefile   *makefile          // with --make, or nil
	spool      *spool.Watcher     // drains the spool
	sampling   *sampling          // with --sample, or nil
	live       *live              // shows the events, or nil
	from       time.Time          // the command runs since then
	hangs      hangs
	hurry      chan struct{} // closed when the end must not wait much longer for readers
	outputLost bool          // writing the command's output failed
	outside    bool          // --undeclared: files were used that are not declared, or that is unknown

	redacted atomic.Uint64 // matches of --redact that this process replaced
}

// create makes the stream and starts it.
func (s *session) create() error {
	var log *logfile.File
	if s.plan.report != "" {
		if err := logfile.CheckReplace(s.plan.report); err != nil {
			return cli.Failure(s.plan.report, err)
		}
	}
	if s.plan.log != "" {
		var err error
		if log, err = logfile.Open(s.plan.log, s.plan.noClobber); err != nil {
			return err
		}
	}
	if err := s.openLive(); err != nil {
		log.Discard()
		return err
	}
	// Catch signals from here on. One that arrives while the log is created is for the
	// command, and must not leave the log incomplete. Opening the log is not covered: on a
	// FIFO it blocks until there is a reader.
	if s.plan.attach == 0 {
		s.signals = cli.NewForwarder()
	} else {
		s.signals = catchDetach()
	}
	var err error
	cli.Waiting(s.signals.C, func() { err = s.createStream(log) }, log.Discard)
	if err != nil {
		log.Discard()
		return err
	}
	s.log = log
	return nil
}

// replaceLog replaces the contents of the log's file, once the command has been executed.
func (s *session) replaceLog() {
	if s.log == nil {
		return
	}
	if err := s.log.Begin(s.stream); err != nil {
		// A later flush may find space. finish reports what was lost.
		s.env.Note(cli.AsFault(logfile.Fault(s.plan.log, err)).Text)
	}
	s.log.Close()
}

func (s *session) createStream(log *logfile.File) (err error) {
	var file *os.File
	if log != nil {
		file = log.File
	}
	attr := s.plan.attr
	attr.HoldLog = log != nil && log.Held
	if s.plan.name != "" {
		attr.Name = newstream.NameFor(s.plan.name)
	} else if attr.Name == "" {
		attr.Name = newstream.NameFor(s.plan.redact.String(s.plan.target()))
	} else if err := newstream.CheckNameFree(attr.Name); err != nil {
		return err
	} else {
		attr.Exclusive = true
	}
	if s.plan.attach != 0 {
		err = s.createAttached(&attr, file)
	} else {
		s.stream, err = posixtrace.CreateForChild(&attr, file)
	}
	if err != nil {
		if errors.Is(err, syscall.EEXIST) {
			return newstream.NameInUse(attr.Name)
		}
		return logfile.Fault(s.plan.log, err)
	}
	for _, note := range newstream.RoomNotes(s.stream, &attr) {
		s.env.Note(note)
	}
	if len(s.plan.filter) > 0 {
		err = selection.Filter(s.stream, s.plan.redact.FilterOps(s.plan.filter))
	}
	if err == nil && s.plan.sync {
		err = s.stream.SetSync(true)
	}
	if err == nil && !s.plan.stopped && s.plan.attach == 0 {
		err = s.stream.Start()
	}
	if err == nil {
		s.rec, err = s.stream.Recorder()
	}
	if err != nil {
		s.stream.Shutdown()
		return logfile.Fault(s.plan.log, err)
	}
	return nil
}

// adopt makes the command's process the target of the stream.
func (s *session) adopt(pid int) {
	// ESRCH: the command has ended already. Its events are in the stream.
	if err := s.stream.Adopt(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.env.Note("cannot trace " + s.plan.argv[0] + ": " + cli.Reason(err))
	}
}

// setEnv returns environ with one variable set.
func setEnv(environ []string, name, value string) []string {
	out := make([]string, 0, len(environ)+1)
	for _, e := range environ {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	return append(out, name+"="+value)
}
