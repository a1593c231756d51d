package run

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/cmd/internal/startup/original"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// execute runs the command to its end and records its start and its end. An error means that
// the command was not started, or that its status is unknown.
func (s *session) execute() (syscall.WaitStatus, error) {
	info, err := s.stream.Info()
	if err != nil {
		return 0, cli.Failure("", err)
	}
	taps, err := newTaps(s.plan.capture)
	if err != nil {
		return 0, cli.Failure("", err)
	}
	deliver := func(sig syscall.Signal) { cli.PassOn(sig, s.passSignal) }
	if s.term = taps.term; s.term != nil {
		s.term.limited = s.plan.limit.enabled()
		deliver = func(sig syscall.Signal) { s.term.handleSignal(sig, s.passSignal) }
	} else {
		s.plan.limit.enterGroup()
	}
	env := s.spoolEnv(setEnv(original.Environ(), "PTRACE_STREAM", info.Path))
	if err := s.publishRedact(info.Path); err != nil {
		s.closeSpool()
		return 0, err
	}
	s.configureTracer(info.Path)
	env = s.contextEnv(s.makeEnv(env))
	s.markStart()
	err = s.startCommand(taps.files, env)
	taps.closeCommandEnds()
	if err != nil {
		s.endTracer()
		return 0, err
	}
	s.replaceLog()
	s.confirmTraced()
	s.startLive()
	s.from = time.Now()
	s.hangs.ended = make(chan struct{})
	s.plan.limit.passed = func() {
		s.recordTimeout()
		s.reportHang(posixtrace.HangTimeout, s.plan.limit.signal)
	}
	s.plan.limit.start(s.child, s.term != nil)
	end := s.from.Add(s.plan.limit.limit)
	unwatch := s.watchIdle()
	var terminated atomic.Bool
	s.signals.Forward(func(sig syscall.Signal) {
		if terminates(sig) {
			terminated.Store(true)
		}
		deliver(sig)
	})
	s.recordContext()
	s.recordExec()
	s.startSampling(s.child.PID)
	taps.run(s)

	status, usage, err := s.child.Wait()
	close(s.hangs.ended)
	unwatch()
	s.plan.limit.stop()
	s.signals.Stop()
	s.hangs.await()
	s.boundLog(end, terminated.Load())
	s.endSampling(err == nil && status != 0)
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

// markStart notes the time as that of the command's start.
func (s *session) markStart() {
	s.measureMachine()
	s.started = s.rec.Now()
	s.spool.Mark(s.started)
}

// measureMachine notes what the machine has done until the command starts, unless the tracer does.
func (s *session) measureMachine() {
	switch {
	case !s.recordsCommand():
	case s.tracer != nil:
		s.machine = procfs.MachineNow(os.Getpid(), s.tracer.PID())
	default:
		s.machine = procfs.MachineNow(os.Getpid())
	}
}

// startCommand starts the command: under the monitor of its terminal, or directly.
func (s *session) startCommand(files [3]int, env []string) (err error) {
	if s.term != nil {
		s.term.signals = s.signals.C
		ready := func(pid int) {
			s.adopt(pid)
			s.closeStage()
			s.markStart()
		}
		s.child, err = s.term.start(s.env.Prog, s.plan.argv, env, files, s.hiddenOptions(), ready)
		return err
	}
	attr := &child.Attr{Env: env, Files: files}
	if s.tracer != nil {
		attr.Entry = child.NewEntry(s.tracer.Stage())
		defer s.tracer.Staged()
	}
	s.child, err = child.Start(s.plan.argv, attr)
	if err == nil {
		s.adopt(s.child.PID)
	}
	return err
}

func (s *session) recordExec() {
	if !s.recordsCommand() {
		return
	}
	data := posixtrace.ExecData{Path: s.child.Path, Argv: s.child.Argv}
	data.Dir, _ = syscall.Getwd()
	data = s.redactProgram(data)
	tracer.Fit(&data, s.maxData())
	s.rec.Record(posixtrace.EventInfo{
		ID: posixtrace.EventProcExec, PID: s.child.PID, TID: s.child.PID, UnixNano: s.started,
	}, data.Append(nil))
}

func (s *session) recordExit(status syscall.WaitStatus, u *child.Usage) {
	if !s.recordsExit() {
		return
	}
	// The events of a shell precede its end, also those from lines without a time.
	if s.spool != nil {
		streams.DrainSpool(s.stream, streams.SpoolWait)
	}
	data := posixtrace.NewExitData(status, &u.Rusage)
	data.RunDelay, data.Processors = u.Delay, int(u.Processors)
	if data.Processors == 0 {
		data.Processors = procfs.Processors(0)
	}
	s.machine.Describe(&data)
	s.rec.Record(posixtrace.EventInfo{ID: posixtrace.EventProcExit, PID: s.child.PID, TID: s.child.PID}, data.Append(nil))
}
