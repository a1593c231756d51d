package posixtrace

import (
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// self is this process as a creator.
func self() owner.Creator {
	c := owner.Creator{Proc: sys.SelfProc()}
	if cmd, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		c.Command = strings.TrimSuffix(string(cmd), "\x00")
		if rewrite := commandLine.Load(); rewrite != nil {
			c.Command = strings.Join((*rewrite)(strings.Split(c.Command, "\x00")), "\x00")
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
