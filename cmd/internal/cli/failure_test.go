package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestReason(t *testing.T) {
	_, notThere := os.Open("/nonexistent/x")
	for _, tt := range []struct {
		object string
		err    error
		want   string
	}{
		{"build.trace", syscall.ENOENT, "build.trace: No such file or directory"},
		{"/nonexistent/x", notThere, "/nonexistent/x: No such file or directory"},
		{"", notThere, "/nonexistent/x: No such file or directory"},
		{"ci", &posixtrace.Error{Op: "posix_trace_start", Err: syscall.EINVAL}, "ci: Invalid argument"},
		{"ci", &posixtrace.Error{Op: "posix_trace_start", Err: syscall.EINVAL, Cause: errors.New("the stream was shut down")}, "ci: the stream was shut down"},
		{"ci", &posixtrace.Error{Op: "posix_trace_start", Err: syscall.ENOSPC, Cause: fmt.Errorf("flush: %w", syscall.ENOSPC)}, "ci: flush: No space left on device"},
		{"ci", &posixtrace.Error{Op: "posix_trace_open", Err: syscall.EIO, Cause: &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}}, "ci: x: Input/output error"},
		{"", os.NewSyscallError("open", syscall.EPERM), "Operation not permitted"},
		{"ci", Failf("as it is"), "as it is"},
	} {
		if got := Failure(tt.object, tt.err).Error(); got != tt.want {
			t.Errorf("failure(%q, %v) = %q, want %q", tt.object, tt.err, got, tt.want)
		}
	}
	if err := Failure("x", nil); err != nil {
		t.Errorf("failure of nil = %v", err)
	}
}
