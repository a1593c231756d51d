package posixtrace

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool/early"
)

// Connect a program that $PTRACE_STREAM leads to a stream before main: main may enter a sandbox
// (seccomp(2)) that kills the program for the system calls of a connection.
func init() {
	if early.Refused {
		return
	}
	path := os.Getenv("PTRACE_STREAM")
	if _, ok := registry.StreamIDOfPath(path); !ok || path[0] != '/' || sys.Secure() {
		return
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return // the stream is gone; do not make a page for it
	}
	if _, err := traced.open(); err == nil {
		traced.connectNow()
	}
}

// connectNow connects a traced process to its streams, so that its first event needs no further
// system call.
func (t *tracedProcess) connectNow() {
	if atomic.LoadUint32(loadWord()) != 0 {
		t.sync()
	}
}
