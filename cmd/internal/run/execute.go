package run

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/signals"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

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
