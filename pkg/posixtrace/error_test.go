package posixtrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The text of an error is one line with the reason once.
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
		{&Error{Op: "Adopt", Err: syscall.ESRCH, Cause: errors.Join(errors.New("one"), errors.New("two"))}, "Adopt: one; two: no such process"},
	} {
		if got := fmt.Sprint(tt.err); got != tt.want {
			t.Errorf("error text = %q, want %q", got, tt.want)
		}
	}
}

func TestErrorOfCancelledNext(t *testing.T) {
	s, err := Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not needed any more")
	cancel(why)
	_, _, err = s.Next(ctx, make([]byte, 64))
	if !errors.Is(err, syscall.EINTR) || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled Next = %v, want EINTR and the context's cause", err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || text != "posix_trace_getnext_event: not needed any more: interrupted system call" {
		t.Errorf("text of a cancelled Next = %q", text)
	}
}

// Each call on a closed Stream, Log, Reader, Recorder or Process fails with an error that matches both EINVAL and os.ErrClosed.
func TestCallsAfterCloseMatchErrClosed(t *testing.T) {
	s, path := withLog(t, &Attr{LogFullPolicy: PolicyAppend})
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	rec.Close()
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p, err := OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"Stream.Start":        s.Start,
		"Stream.Flush":        s.Flush,
		"Stream.Sync":         s.Sync,
		"Stream.Close":        s.Close,
		"Stream.Shutdown":     s.Shutdown,
		"Stream.Next":         func() error { _, _, err := s.Next(ctx, nil); return err },
		"Stream.Attr":         func() error { _, err := s.Attr(); return err },
		"Stream.Status":       func() error { _, err := s.Status(); return err },
		"Stream.Reader":       func() error { _, err := s.Reader(); return err },
		"Stream.Recorder":     func() error { _, err := s.Recorder(); return err },
		"Log.Next":            func() error { _, _, err := l.Next(nil); return err },
		"Log.Close":           l.Close,
		"Reader.Next":         func() error { _, err := r.Next(); return err },
		"Reader.NextBatch":    func() error { return r.NextBatch(&Batch{}) },
		"Reader.Count":        func() error { return r.Count(&Counts{}) },
		"Reader.Rewind":       r.Rewind,
		"Reader.Renew":        func() error { return r.Renew(time.Time{}) },
		"Reader.WriteLog":     func() error { return r.WriteLog(io.Discard, nil) },
		"Reader.Close":        r.Close,
		"Recorder.Close":      rec.Close,
		"Process.OpenEventID": func() error { _, err := p.OpenEventID("closed"); return err },
		"Process.Close":       p.Close,
	} {
		if err := f(); !errors.Is(err, syscall.EINVAL) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v, want EINVAL and os.ErrClosed", name, err)
		}
	}
}
