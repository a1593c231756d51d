package posixtrace

import (
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// creator is the process that a stream is created for.
type creator struct {
	proc    sys.Proc // its death shuts the stream down
	command string
	pid     uint32 // if another process controls the stream through this one: its number
}

// end is the trace point of the STOP event when this process shuts the stream down because a process asks
// for it that does not own the stream.
func (c creator) end() stream.Event {
	if c.pid != 0 {
		return stream.Event{PID: c.pid}
	}
	tid, pc := sys.SlowSelf(1)
	return stream.Event{PID: sys.SelfProc().PID, TID: uint32(tid), Addr: pc}
}

// self is this process as a creator.
func self() creator {
	c := creator{proc: sys.SelfProc()}
	if cmd, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		c.command = strings.TrimSuffix(string(cmd), "\x00")
		if rewrite := commandLine.Load(); rewrite != nil {
			c.command = strings.Join((*rewrite)(strings.Split(c.command, "\x00")), "\x00")
		}
	}
	return c
}

// createFor creates a stream for another process, which controls it through this one. That process is
// the owner, and this one holds the stream (conn.Pin): the death of either orphans it, and any
// process may complete it then, as if its creator had no helper. No other process can complete a log
// that is no regular file: such a stream lives as long as this process.
func createFor(by hook.Controller, pid int, attr *Attr, log *os.File) (*Stream, error) {
	op := "posix_trace_create"
	if log != nil {
		op = "posix_trace_create_withlog"
	}
	owner, err := sys.Lookup(by.PID)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	p := owner
	if pid != 0 && pid != by.PID {
		if p, err = target(pid); err != nil {
			return nil, fail(op, err, syscall.ESRCH)
		}
	}
	c := creator{proc: owner, command: by.Command, pid: owner.PID}
	if log != nil {
		if st, err := sys.Fstat(log); err == nil && !st.Regular() {
			c.proc = sys.SelfProc()
		}
	}
	s, err := create(p, attr, log, c)
	return s, fail(op, err, syscall.ENOMEM)
}
