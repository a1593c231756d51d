package posixtrace

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Error is what every call of this package fails with, except where io.EOF or
// ErrUnavailable is documented. It carries the error number that the standard
// asks for and, where there is more to say, what exactly was wrong.
//
//	errors.Is(err, syscall.ESRCH)    // no such process
//	errors.Is(err, fs.ErrPermission) // EPERM and EACCES
type Error struct {
	Op    string        // the function's name in the standard: "posix_trace_create"
	Err   syscall.Errno // the error number the standard asks for
	Cause error         // what exactly was wrong, or nil
}

// Error returns "posix_trace_open: record at 4096: cut short: invalid argument".
func (e *Error) Error() string {
	s := e.Op + ": "
	if e.Cause != nil {
		t := e.Cause.Error()
		if strings.HasSuffix(t, e.Err.Error()) {
			return s + t
		}
		s += t + ": "
	}
	return s + e.Err.Error()
}

// Unwrap returns the error number and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// ErrUnavailable is what TryNext returns when no event is ready (the standard's
// "unavailable" flag).
var ErrUnavailable = errors.New("no event available")

// ErrDirectory is in the chain of errors about the trace directory: it is refused, cannot be made
// or written, or has no room. $PTRACE_DIR names another. Extension.
var ErrDirectory = errors.New("the trace directory cannot be used")

// dirError is an error about the trace directory.
type dirError struct{ err error }

func (e *dirError) Error() string        { return e.err.Error() }
func (e *dirError) Unwrap() error        { return e.err }
func (e *dirError) Is(target error) bool { return target == ErrDirectory }

// ofDir marks an error of the trace directory, if it is one: a process that is gone and a limit of
// ours are none.
func ofDir(err error) error {
	for _, no := range []syscall.Errno{syscall.ESRCH, syscall.EAGAIN, syscall.EEXIST, syscall.ESTALE} {
		if errors.Is(err, no) {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return &dirError{err}
}

// roomError is ENOMEM, in words that say more.
type roomError string

func (e roomError) Error() string { return string(e) }
func (e roomError) Unwrap() error { return syscall.ENOMEM }

// fail makes an *Error of err, or nil of nil. An error number inside err is
// taken; otherwise the number is def.
func fail(op string, err error, def syscall.Errno) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return &Error{Op: op, Err: e.Err, Cause: e.Cause}
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return &Error{Op: op, Err: no, Cause: err}
	}
	return &Error{Op: op, Err: def, Cause: err}
}

func einval(op, format string, args ...any) error {
	return &Error{Op: op, Err: syscall.EINVAL, Cause: fmt.Errorf(format, args...)}
}
