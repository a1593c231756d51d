// Package run is ptrace-run.
package run

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/creation"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
	"github.com/posixtrace/posixtrace/cmd/internal/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
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

// run runs the command as planned.
func (p *runPlan) run(env *cli.Env) error {
	s := &session{plan: p, env: env}
	s.startTracer()
	if err := s.create(); err != nil {
		return err
	}
	status, err := s.execute()
	if err != nil {
		s.stream.Shutdown()
		return err
	}
	final := p.limit.status(status)
	if final == 0 && s.outputLost {
		// Alone, the command would have seen the error and not succeeded.
		final = child.StatusOwn
	}
	// A command whose reader has had enough, as in "... | head", has not failed.
	enough := status.Signaled() && status.Signal() == syscall.SIGPIPE
	lost := s.finish(final != 0 && !enough)
	switch {
	case status.Signaled() && final == child.ExitStatus(status) && !p.limit.timedOut:
		if s.term != nil {
			s.term.killJob(status.Signal())
		}
		signals.DieBy(status.Signal())
	case final == 0 && p.strict && lost:
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
	log         *logfile.File // nil without log
	child       *child.Process
	term        *console           // the command's, if it has one of its own
	tracer      *tracer.Tracer     // of the command's processes, or nil
	tracerFault error              // why there is none
	begun       int64              // when the command was started
	signals     *signals.Forwarder // those that are meant for the command

	spool      *spool.Watcher // takes lines over as they come
	outputLost bool           // output of the command could not be written
}

// create makes the stream and starts it.
func (s *session) create() error {
	var log *logfile.File
	if s.plan.log != "" {
		var err error
		if log, err = logfile.Open(s.plan.log, s.plan.noClobber); err != nil {
			return err
		}
	}
	// A signal that comes while the log is begun is for the command, and must not leave one
	// without its end. To open it may take as long as a FIFO has no reader.
	s.signals = signals.NewForwarder()
	err := s.createStream(log)
	if err != nil {
		log.Discard()
		return err
	}
	s.log = log
	return nil
}

// beginLog replaces what the log's file held before, once the command has been executed.
func (s *session) beginLog() {
	if s.log == nil {
		return
	}
	if err := s.log.Begin(s.stream); err != nil {
		// Perhaps a later flush finds room. What is lost for good the end tells.
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
	if attr.Name == "" {
		attr.Name = creation.NameFor(s.plan.argv[0])
	} else if err := creation.CheckNameFree(attr.Name); err != nil {
		return err
	} else {
		attr.Exclusive = true
	}
	if s.stream, err = posixtrace.CreateForChild(&attr, file); err != nil {
		if errors.Is(err, syscall.EEXIST) {
			return creation.NameInUse(attr.Name)
		}
		return logfile.Fault(s.plan.log, err)
	}
	for _, note := range creation.RoomNotes(s.stream, &attr) {
		s.env.Note(note)
	}
	if len(s.plan.filter) > 0 {
		err = s.stream.FilterOps(s.plan.filter)
	}
	if err == nil && s.plan.sync {
		err = s.stream.SetSync(true)
	}
	if err == nil && !s.plan.stopped {
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

// execute runs the command to its end and records it. An error means that it
// was not started.
func (s *session) execute() (syscall.WaitStatus, error) {
	info, err := s.stream.Info()
	if err != nil {
		return 0, cli.Failure("", err)
	}
	taps, err := newTaps(s.plan.capture)
	if err != nil {
		return 0, cli.Failure("", err)
	}
	caught := s.signals
	if taps.term == nil {
		s.plan.limit.enterGroup()
	}
	env := s.spoolEnv(setEnv(os.Environ(), "PTRACE_STREAM", info.Path))
	deliver := func(sig syscall.Signal) { signals.PassOn(sig, s.plan.limit.send) }
	s.configureTracer(info.Path)
	s.begun = s.rec.Now()
	s.spool.Mark(s.begun)
	ready := func(pid int) {
		s.adopt(pid)
		s.staged()
		s.begun = s.rec.Now()
		s.spool.Mark(s.begun)
	}
	if s.term = taps.term; s.term != nil {
		taps.term.signals = caught.C
		deliver = func(sig syscall.Signal) { taps.term.signal(sig, s.plan.limit.send) }
		s.child, err = taps.term.start(s.env.Prog, s.plan.argv, env, taps.files, s.hidden(), ready)
	} else {
		start := func() (err error) {
			s.child, err = child.Start(s.plan.argv, env, taps.files)
			return err
		}
		if s.tracer != nil {
			err = s.tracer.Launch(start)
		} else {
			err = start()
		}
		if err == nil {
			s.adopt(s.child.PID)
		}
	}
	taps.started()
	if err != nil {
		s.endTracer()
		return 0, err
	}
	s.beginLog()
	s.attached()
	s.plan.limit.start(s.child)
	end := time.Now().Add(s.plan.limit.limit)
	var asked atomic.Bool
	caught.Forward(func(sig syscall.Signal) {
		if asksForEnd(sig) {
			asked.Store(true)
		}
		deliver(sig)
	})
	s.recordExec()
	taps.run(s)

	status, usage, err := s.child.Wait()
	s.plan.limit.stop()
	caught.Stop()
	s.boundLog(end, asked.Load())
	if err != nil {
		if taps.term != nil {
			taps.term.finish()
		}
		return 0, cli.Failure(s.plan.argv[0], err)
	}
	s.recordExit(status, &usage)
	taps.drain(s)
	return status, nil
}

// asksForEnd reports whether a signal asks a process to end.
func asksForEnd(sig os.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP || sig == syscall.SIGQUIT
}

// boundLog sees, once the command has ended, that a log whose reader does not read keeps us no
// longer than the command's time, or than a signal that asks for the end.
func (s *session) boundLog(end time.Time, asked bool) {
	if s.plan.log == "" {
		return
	}
	giveUp := func() { s.stream.SetLogTimeout(logfile.Grace) }
	if asked || s.plan.limit.timedOut {
		giveUp()
		return
	}
	if s.plan.limit.enabled() {
		time.AfterFunc(time.Until(end), giveUp)
	}
	go func() {
		for sig := range s.signals.C {
			if asksForEnd(sig) {
				giveUp()
			}
		}
	}()
}

// adopt tells the stream which process it traces.
func (s *session) adopt(pid int) {
	// A command that has ended already left its events all the same.
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

func (s *session) recordExec() {
	if !s.recordsCommand() {
		return
	}
	data := posixtrace.ExecData{Path: s.child.Path, Argv: s.child.Argv}
	s.rec.Record(posixtrace.EventInfo{
		ID: posixtrace.EventProcExec, PID: s.child.PID, TID: s.child.PID, UnixNano: s.begun,
	}, data.Append(nil))
}

func (s *session) recordExit(status syscall.WaitStatus, u *syscall.Rusage) {
	if !s.recordsExit() {
		return
	}
	// What a shell told before it ended comes before its end, also lines without a time.
	if s.spool != nil {
		streams.DrainSpool(s.stream, streams.SpoolWait)
	}
	data := posixtrace.NewExitData(status, u)
	s.rec.Record(posixtrace.EventInfo{ID: posixtrace.EventProcExit, PID: s.child.PID, TID: s.child.PID}, data.Append(nil))
}

// finish completes the log, or shows the last events when there is none, and
// reports whether anything was lost on the way. What goes wrong here is told and
// leaves the command's status alone.
func (s *session) finish(failed bool) (lost bool) {
	s.closeSpool()
	s.endTracer()
	s.rec.Close()
	if s.plan.log == "" {
		s.showStream(failed)
	}
	st, err := s.stream.PeekStatus()
	if e := s.stream.Shutdown(); e != nil {
		err = e
	} else if err == nil && st.StreamFlushError != 0 {
		err = st.StreamFlushError
	}
	if errors.Is(err, syscall.EINVAL) {
		err = nil // somebody else has shut it down
	}
	missed, why := st.Missed, st.MissedError
	if s.plan.log != "" {
		st = s.showLog(st)
	}
	var faults []string
	if err != nil {
		faults = append(faults, cli.AsFault(logfile.Fault(s.plan.log, err)).Text)
	}
	if n := st.Lost + st.LogLost; n > 0 && (err != nil || s.plan.tellsLoss()) {
		faults = append(faults, cli.Plural(n, "event was", "events were")+" lost")
	}
	if missed > 0 {
		faults = append(faults, cli.Plural(missed, "process", "processes")+" could not connect to the stream: "+cli.Strerror(why))
	}
	if faults != nil {
		s.env.Note(strings.Join(faults, "; "))
	}
	return err != nil || st.Lost+st.LogLost > 0
}
