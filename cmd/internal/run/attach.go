package run

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// attachExcludes are the options that need a command.
var attachExcludes = cli.Excludes("capture", "pty", "make", "stopped", "kill-after", "signal", "drain", "hang", "why")

// setAttach reads --pid, and sets what differs without a command.
func (p *runPlan) setAttach(args *cli.Args) (err error) {
	if p.attach, err = args.PID("pid", 0); err != nil || p.attach == 0 {
		return err
	}
	if len(p.argv) > 0 {
		return cli.Usagef("extra operand '%s'; --pid attaches to a running process", p.argv[0])
	}
	if !args.Has("dump") {
		p.dump = "always"
		if p.summary || p.live.on || p.report != "" {
			p.dump = "never"
		}
	}
	if p.sample != 0 && !args.Has("events") {
		return nil // that needs no tracer
	}
	return newstream.Attachable(args, &p.trace)
}

// follow attaches to a process, and records it until it ends or a signal or the time limit asks
// to detach.
func (p *runPlan) follow(env *cli.Env) error {
	if err := newstream.CheckAttach(p.attach); err != nil {
		return err
	}
	s := &session{plan: p, env: env}
	s.startTracer()
	if s.tracerFault != nil {
		return newstream.AttachFault(p.attach, s.tracerFault)
	}
	if s.tracer != nil {
		s.tracer.Staged()
	}
	if err := s.create(); err != nil {
		return err
	}
	if err := s.attach(); err != nil {
		if s.tracer != nil {
			s.tracer.Release()
		}
		s.stream.Shutdown()
		s.log.Discard()
		return err
	}
	s.replaceLog()
	s.startLive()
	s.startSampling(p.attach)
	alive := s.awaitDetach()
	lost := s.finish(false)
	switch {
	case !alive:
		return cli.Exit(child.StatusOwn)
	case p.strict && lost || s.outside:
		return cli.Exit(1)
	}
	return nil
}

// attach makes the tracer attach to the process.
func (s *session) attach() error {
	info, err := s.stream.Info()
	if err != nil {
		return cli.Failure("", err)
	}
	if err := s.publishRedact(info.Path); err != nil {
		return err
	}
	if s.tracer == nil {
		return s.stream.Start()
	}
	cfg := s.tracerConfig(info.Path)
	cfg.Attach, cfg.Start = s.plan.attach, true
	if err := s.tracer.Configure(cfg); err != nil {
		return newstream.AttachFault(s.plan.attach, err)
	}
	if err := s.awaitAttached(); err != nil {
		return newstream.AttachFault(s.plan.attach, err)
	}
	return nil
}

// attachGrace is how long an attempt to attach goes on after a signal that asks to detach.
const attachGrace = time.Second

// errWaits says that the kernel has made the tracer wait, as it does while the process executes a
// program and waits for something itself.
var errWaits = errors.New("the kernel makes tracers wait, since the process executes a program")

// awaitAttached waits until the tracer has attached or cannot. A signal that asks to detach ends an
// attempt that the kernel does not complete.
func (s *session) awaitAttached() error {
	attached := make(chan error, 1)
	go func() { attached <- s.tracer.Attached() }()
	select {
	case err := <-attached:
		return err
	case sig := <-s.signals.C:
		select {
		case err := <-attached:
			s.signals.C <- sig // for awaitDetach
			return err
		case <-time.After(attachGrace):
			s.tracer.Abandon()
			return errWaits
		}
	}
}

// createAttached creates the stream of a process that runs already.
func (s *session) createAttached(attr *posixtrace.Attr, file *os.File) (err error) {
	if file == nil {
		s.stream, err = posixtrace.Create(s.plan.attach, attr)
	} else {
		s.stream, err = posixtrace.CreateWithLog(s.plan.attach, attr, file)
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ESRCH) {
		return newstream.AttachFault(s.plan.attach, err)
	}
	return err
}

// target returns the name of the program that is recorded.
func (p *runPlan) target() string {
	if p.attach == 0 {
		return p.argv[0]
	}
	return procfs.Process{PID: p.attach}.Command()
}

// catchDetach catches the signals that ask to detach. A shell without job control makes INT ignored
// in its background commands, but it is what ends the recording.
func catchDetach() *cli.Forwarder {
	f := &cli.Forwarder{C: make(chan os.Signal, 8)}
	signal.Notify(f.C, unix.SIGINT, unix.SIGTERM)
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGQUIT} {
		if !cli.Ignored(sig) {
			signal.Notify(f.C, sig)
		}
	}
	return f
}

// goneInterval is how often awaitDetach checks whether another process has shut the stream down.
const goneInterval = 200 * time.Millisecond

// awaitDetach waits for the end of the process or for a reason to detach, and makes the tracer
// detach. It returns false if the tracer was killed.
func (s *session) awaitDetach() (alive bool) {
	ended := make(chan bool, 1)
	go func() {
		if s.tracer == nil {
			awaitEnd(s.plan.attach)
			ended <- true
			return
		}
		ended <- s.tracer.Exited()
	}()
	var timeout <-chan time.Time
	if l := &s.plan.limit; l.enabled() {
		timeout = time.After(l.limit)
	}
	tick := time.NewTicker(goneInterval)
	defer tick.Stop()
	terminated := false
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-s.signals.C:
			terminated, waiting = true, false
		case <-timeout:
			terminated, waiting = true, false
		case <-tick.C:
			_, err := s.stream.Info()
			waiting = err == nil
		}
	}
	s.endSampling(false)
	alive = s.tracer == nil || s.tracer.Release()
	s.boundLog(time.Time{}, terminated)
	return alive
}

// maxData returns how much data of an event the stream keeps.
func (s *session) maxData() int {
	if attr, err := s.stream.Attr(); err == nil {
		return attr.MaxDataSize
	}
	return *s.plan.attr.MaxDataSize
}

// tracerConfig returns the configuration of the tracer.
func (s *session) tracerConfig(stream string) tracer.Config {
	return tracer.Config{
		Stream: stream, Want: s.plan.trace, MaxData: s.maxData(),
		Alone: s.plan.attr.Inheritance != posixtrace.InheritChildren,
	}
}
