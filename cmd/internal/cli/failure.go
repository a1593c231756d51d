package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Fault is an error as the user reads it.
type Fault struct {
	Text   string
	Hint   string
	Usage  bool
	Silent bool
	Status int   // exit status; 0 for the command's status of failures
	Kind   error // matched by errors.Is; may be nil
}

func (f *Fault) Error() string { return f.Text }

func AsFault(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, posixtrace.ErrDirectory) {
		return directoryFault(err)
	}
	return &Fault{Text: Reason(err), Hint: limitHint(err)}
}

// limitHint returns a hint for an error caused by a process limit.
func limitHint(err error) string {
	if errors.Is(err, syscall.EMFILE) {
		return "`ulimit -n` raises the number of files that a process may have open"
	}
	return ""
}

// directoryFault returns the fault for an error of the trace directory, in any command.
func directoryFault(err error) *Fault {
	hint := cmp.Or(limitHint(err), "PTRACE_DIR names another trace directory")
	if errors.Is(err, syscall.ENOMEM) {
		hint = "`ptrace-ctl list` shows the streams; --stream-size makes a smaller one, and PTRACE_DIR names another directory"
	}
	return &Fault{Text: Reason(err), Hint: hint}
}

// Usagef returns a usage error.
func Usagef(format string, args ...any) error {
	return &Fault{Text: fmt.Sprintf(format, args...), Usage: true}
}

// Failf returns a failure with this text: lower case, no full stop.
func Failf(format string, args ...any) error {
	return &Fault{Text: fmt.Sprintf(format, args...)}
}

// Failure returns a failure that reads "object: Reason". It returns nil for a nil err, and
// a Fault in the chain of err unchanged.
func Failure(object string, err error) error {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, posixtrace.ErrDirectory) {
		return directoryFault(err)
	}
	text := Reason(err)
	if object != "" && !strings.HasPrefix(text, object+": ") {
		text = object + ": " + text
	}
	return &Fault{Text: text, Hint: limitHint(err)}
}

// WithHint returns err with a hint.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	f := *AsFault(err)
	f.Hint = hint
	return &f
}

// WithStatus returns err with an exit status of its own.
func WithStatus(err error, status int) error {
	if err == nil {
		return nil
	}
	f := *AsFault(err)
	f.Status = status
	return &f
}

// Exit returns an error that ends the command with a status and without a message.
func Exit(status int) error { return &Fault{Silent: true, Status: status, Text: "exit"} }

// Reason returns an error in the wording of other system commands: without function names,
// and error numbers as strerror(3) has them.
func Reason(err error) string {
	switch e := err.(type) {
	case *Fault:
		return e.Text
	case syscall.Errno:
		return Strerror(e)
	case *posixtrace.Error:
		if e.Cause == nil {
			return Strerror(e.Err)
		}
		return Reason(e.Cause)
	case *fs.PathError:
		return e.Path + ": " + Reason(e.Err)
	case *os.LinkError:
		return e.New + ": " + Reason(e.Err)
	case *os.SyscallError:
		return Reason(e.Err)
	}
	text := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) && err == io.ErrUnexpectedEOF {
		return "unexpected end"
	}
	// Keep the words of a wrapping error; translate the wrapped one.
	if inner := errors.Unwrap(err); inner != nil {
		if before, ok := strings.CutSuffix(text, inner.Error()); ok {
			return before + Reason(inner)
		}
	}
	return text
}

// Strerror is strerror(3). Go has the same texts in lower case.
func Strerror(e syscall.Errno) string {
	s := strings.TrimSuffix(e.Error(), ".") // of Windows
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// Is lets errors.Is match the kind of the fault.
func (f *Fault) Is(target error) bool { return f.Kind != nil && target == f.Kind }

// Plural returns a count with its noun: "1 event", "2 events".
func Plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
