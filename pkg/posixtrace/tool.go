package posixtrace

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// toolCalls has the bodies of the functions of package tool as methods of the same names.
type toolCalls struct{}

func init() { hook.Calls = toolCalls{} }

var (
	// beforeShutdown is the function that tool.BeforeShutdown has set, or nil.
	beforeShutdown atomic.Pointer[func(s *Stream, ended int64)]
	// commandLine is the function that tool.RewriteCommandLine has set, or nil.
	commandLine atomic.Pointer[func(argv []string) []string]
)

func (toolCalls) BeforeShutdown(f func(s *Stream, ended int64)) { beforeShutdown.Store(&f) }

func (toolCalls) RewriteCommandLine(f func(argv []string) []string) { commandLine.Store(&f) }

// Create creates a stream for another process, which controls it through this one. That process is
// the owner, and this one holds the stream (conn.Pin): the death of either orphans it, and any
// process may complete it then, as if its creator had no helper. No other process can complete a log
// that is no regular file: such a stream lives as long as this process.
func (toolCalls) Create(by hook.Controller, pid int, attr *Attr, log *os.File) (*Stream, error) {
	op := "posix_trace_create"
	if log != nil {
		op = "posix_trace_create_withlog"
	}
	controller, err := sys.Lookup(by.PID)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	p := controller
	if pid != 0 && pid != by.PID {
		if p, err = target(pid); err != nil {
			return nil, fail(op, err, syscall.ESRCH)
		}
	}
	c := owner.Creator{Proc: controller, Command: by.Command, PID: controller.PID}
	if log != nil {
		if st, err := sys.Fstat(log); err == nil && !st.Regular() {
			c.Proc = sys.SelfProc()
		}
	}
	s, err := create(p, attr, log, c)
	return s, fail(op, err, syscall.ENOMEM)
}

func at(p hook.Point) stream.Event { return stream.Event{PID: p.PID, TID: p.TID, Addr: p.Addr} }

func (toolCalls) Start(s *Stream, p hook.Point) error {
	return s.controlAt("posix_trace_start", at(p), start)
}

func (toolCalls) Stop(s *Stream, p hook.Point) error {
	return s.controlAt("posix_trace_stop", at(p), stop)
}

func (toolCalls) SetFilter(s *Stream, set EventSet, how FilterHow, p hook.Point) error {
	const op = "posix_trace_set_filter"
	f, err := s.newFilter(op, set, how)
	if err != nil {
		return err
	}
	return s.controlAt(op, at(p), f)
}

func (toolCalls) Clear(s *Stream, around func(discard func())) error { return s.clearAround(around) }

func (toolCalls) Shutdown(s *Stream, p hook.Point) error { return s.shutdownAt(at(p)) }

func (toolCalls) ForgetDirectory() { conn.ForgetDir() }

func (toolCalls) NextBatch(l *Log, b *Batch) error {
	return l.use("posix_trace_getnext_event", func(r *Reader) error {
		defer runtime.KeepAlive(r)
		return r.NextBatch(b)
	})
}

func (toolCalls) Lose(r *Recorder, n uint64) { r.lose(n) }

func (toolCalls) OweRecorder(r *Recorder, id EventID, owing bool) { r.owe(id, owing) }

func (toolCalls) OweProcess(p *Process, id EventID, owing bool) { p.owe(id, owing) }
