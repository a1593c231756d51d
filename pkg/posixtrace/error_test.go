package posixtrace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// An error is one line, and says the reason once.
func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&Error{Op: "posix_trace_start", Err: syscall.EINVAL}, "posix_trace_start: invalid argument"},
		{&Error{Op: "posix_trace_start", Err: syscall.EINVAL, Cause: syscall.EINVAL}, "posix_trace_start: invalid argument"},
		{&Error{Op: "posix_trace_start", Err: syscall.EINVAL, Cause: errors.New("shut down")}, "posix_trace_start: shut down: invalid argument"},
		{fail("posix_trace_create", fmt.Errorf("stream of 7 bytes: %w", syscall.ENOMEM), syscall.EINVAL), "posix_trace_create: stream of 7 bytes: cannot allocate memory"},
		{fail("posix_trace_create", nil, syscall.EINVAL), "<nil>"},
	} {
		if got := fmt.Sprint(tt.err); got != tt.want {
			t.Errorf("error text = %q, want %q", got, tt.want)
		}
	}
}

func TestErrorOfCancelledNext(t *testing.T) {
	s := flowStream(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not needed any more")
	cancel(why)
	_, _, err := s.Next(ctx, make([]byte, 64))
	if !errors.Is(err, syscall.EINTR) || !errors.Is(err, why) {
		t.Errorf("error of a cancelled Next = %v, want EINTR and the context's cause", err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || text != "posix_trace_getnext_event: not needed any more: interrupted system call" {
		t.Errorf("text of a cancelled Next = %q", text)
	}
}
