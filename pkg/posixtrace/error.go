package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
)

// Error is the error of every call of this package, except where io.EOF or ErrUnavailable is
// documented. It has the error number that the standard asks for and, if there is more to say, the
// cause.
//
//	errors.Is(err, syscall.ESRCH)    // no such process
//	errors.Is(err, fs.ErrPermission) // EPERM and EACCES
//	errors.Is(err, os.ErrClosed)     // EINVAL, after Close or Shutdown
type Error struct {
	// Op is the name of the POSIX function ("posix_trace_create"), or of the Go function or method
	// where the standard has no such function ("Adopt").
	Op    string
	Err   syscall.Errno // the error number that the standard asks for
	Cause error         // the exact reason, or nil
}

// Error returns one line: "posix_trace_open: record at 4096: cut short: invalid argument".
func (e *Error) Error() string {
	s := e.Op + ": "
	if e.Cause != nil {
		t := strings.ReplaceAll(e.Cause.Error(), "\n", "; ")
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

// ErrUnavailable is the error of TryNext if no event is ready (the "unavailable" flag of
// posix_trace_trygetnext_event).
var ErrUnavailable = errors.New("no event available")

// ErrDirectory is in the chain of errors of the trace directory: it is unsafe, cannot be made or
// written, or has no room. $PTRACE_DIR names another directory. Extension.
var ErrDirectory = errors.New("the trace directory cannot be used")

// directoryError is the cause of an error of the trace directory. It matches ErrDirectory.
type directoryError struct{ err error }

func (e directoryError) Error() string        { return e.err.Error() }
func (e directoryError) Unwrap() error        { return e.err }
func (e directoryError) Is(target error) bool { return target == ErrDirectory }

// closedError is the error of a handle after its Close. It matches os.ErrClosed and EINVAL.
type closedError string

func (e closedError) Error() string        { return string(e) }
func (e closedError) Unwrap() error        { return syscall.EINVAL }
func (e closedError) Is(target error) bool { return target == os.ErrClosed }

// cancelError is the error of a call whose context is done. It matches the context's cause and its error.
type cancelError struct{ cause, err error }

func (e *cancelError) Error() string   { return e.cause.Error() }
func (e *cancelError) Unwrap() []error { return []error{e.cause, e.err} }

// roomError is ENOMEM with a longer text.
type roomError string

func (e roomError) Error() string { return string(e) }
func (e roomError) Unwrap() error { return syscall.ENOMEM }

// fail returns an *Error for err, or nil for nil. Its error number is the one in err, or def if
// there is none.
func fail(op string, err error, def syscall.Errno) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return &Error{Op: op, Err: e.Err, Cause: e.Cause}
	}
	var dir *conn.DirError
	if errors.As(err, &dir) {
		err = directoryError{err}
	}
	errors.As(err, &def)
	return &Error{Op: op, Err: def, Cause: err}
}

// einval returns an *Error with EINVAL and a formatted cause.
func einval(op, format string, args ...any) error {
	return &Error{Op: op, Err: syscall.EINVAL, Cause: fmt.Errorf(format, args...)}
}
