package run

import (
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// tracerOption makes this program a tracer of processes. tracedOption gives the process that
// becomes the command the descriptor of its tracer.
const tracedOption = "traced"

var tracerOption = strings.TrimPrefix(tracer.Flag, "--")

// setEvents reads --events and --make.
func (p *runPlan) setEvents(args *cli.Args) (err error) {
	p.trace, p.command, err = newstream.Events(args)
	p.trace.Make = args.Has("make")
	return err
}

// startTracer starts the tracer of the processes, if one is needed. It comes first, since it
// takes as long as everything else before the command starts.
func (s *session) startTracer() {
	if s.plan.trace.Any() {
		s.tracer, s.tracerFault = tracer.Start(s.env.Prog, child.FreeDescriptor(), s.env.Note)
	}
}

// configureTracer configures the tracer. If the tracer cannot be used, the command runs without
// it.
func (s *session) configureTracer(stream string) {
	if s.tracerFault != nil {
		s.reportUntraced(s.tracerFault)
	}
	if s.tracer == nil {
		return
	}
	if err := s.tracer.Configure(s.tracerConfig(stream)); err != nil {
		s.tracer.Release()
		s.tracer = nil
		s.reportUntraced(err)
	}
}

// closeStage closes our copy of the tracer's descriptor, once the process that becomes the
// command exists under its monitor.
func (s *session) closeStage() {
	if s.tracer != nil {
		s.tracer.Staged()
	}
}

// endTracer makes the tracer stop recording, and reports if it was killed.
func (s *session) endTracer() {
	if s.tracer == nil || s.tracer.Release() {
		return
	}
	s.outside = s.plan.declared != nil
	text := "the tracer was killed; events of processes are missing"
	if s.plan.attach == 0 && s.plan.trace.Filtered() {
		text = "the tracer was killed, and with it the processes it traced"
	}
	s.env.Note(text)
}

// confirmTraced checks, once the command has started, that it is traced.
func (s *session) confirmTraced() {
	if s.tracer == nil {
		return
	}
	if err := s.tracer.Attached(); err != nil {
		s.tracer.Release()
		s.tracer = nil
		s.reportUntraced(err)
	}
}

// reportUntraced reports that the processes cannot be traced, and makes the session record
// the events that need no tracer.
func (s *session) reportUntraced(err error) {
	s.plan.command = true
	var no syscall.Errno
	refused := errors.As(err, &no) && (no == unix.EPERM || no == unix.EACCES)
	if no == 0 { // the tracer itself is gone
		no = unix.ESRCH
	}
	missing := "events of processes are not recorded"
	hint := ""
	switch {
	case refused && procfs.Tracer(os.Getpid()) != 0: // and so of its children
		hint = "; ptrace-run is traced itself, as by strace or another ptrace-run -e, and a process has one tracer"
	case refused:
		hint = "; ptrace(2) is refused here: a container needs --cap-add=SYS_PTRACE, and kernel.yama.ptrace_scope must be below 3"
	}
	s.env.Note("cannot trace " + s.plan.argv[0] + ": " + cli.Reason(err) + "; " + missing + hint)
	s.rec.Record(posixtrace.EventInfo{ID: posixtrace.EventError}, binary.LittleEndian.AppendUint32(nil, uint32(no)))
}

// recordsCommand reports whether this process, and not the tracer, records proc.exec of the
// command.
func (s *session) recordsCommand() bool {
	return s.plan.command && !(s.tracer != nil && s.plan.trace.Proc)
}

// recordsExit reports whether this process must record proc.exit of the command, which has
// ended: if no tracer has recorded it.
func (s *session) recordsExit() bool {
	if s.tracer == nil {
		return s.plan.command
	}
	if !s.plan.trace.Proc {
		return s.plan.command
	}
	return !s.tracer.Exited()
}

// hiddenOptions returns the hidden options for the process that becomes the command.
func (s *session) hiddenOptions() []string {
	if s.tracer == nil {
		return nil
	}
	stage := s.tracer.Stage()
	unix.FcntlInt(uintptr(stage), unix.F_SETFD, 0)
	return []string{"--" + tracedOption + "=" + strconv.Itoa(stage)}
}
