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

// A program that $PTRACE_STREAM leads to a stream is connected before main. It may enter a
// sandbox there (seccomp(2)) that answers with the program's end to what that takes.
func init() {
	if early.Refused {
		return
	}
	path := os.Getenv("PTRACE_STREAM")
	if _, ok := registry.StreamIDOfPath(path); !ok || path[0] != '/' || sys.Secure() {
		return
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return // left over in the environment; no page is made for it
	}
	if _, err := traced.open(); err == nil {
		traced.connectNow()
	}
}

// connectNow connects the process to its streams if it is traced. Its first event needs no further
// system calls then.
func (t *tracedProcess) connectNow() {
	if atomic.LoadUint32(loadWord()) != 0 {
		t.sync()
	}
}
