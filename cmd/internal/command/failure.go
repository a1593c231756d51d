package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fault is an error in the words the user reads.
type fault struct {
	text   string
	hint   string
	usage  bool
	silent bool
	status int   // 0: the command's own status for failures
	is     error // what errors.Is finds, if anything
}

func (f *fault) Error() string { return f.text }

func asFailure(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, posixtrace.ErrDirectory) {
		return directoryFault(err)
	}
	return &fault{text: reason(err), hint: limitHint(err)}
}

// limitHint is the way out for an error that a limit of the process has caused.
func limitHint(err error) string {
	if errors.Is(err, syscall.EMFILE) {
		return "`ulimit -n` raises the number of files that a process may have open"
	}
	return ""
}

// directoryFault is about the trace directory, whatever the command was at.
func directoryFault(err error) *fault {
	hint := "PTRACE_DIR names another trace directory"
	if errors.Is(err, syscall.ENOMEM) {
		hint = "`ptrace-ctl list` shows the streams; --stream-size makes a smaller one, and PTRACE_DIR names another directory"
	}
	return &fault{text: reason(err), hint: hint}
}

// usagef is a fault of the command line.
func usagef(format string, args ...any) error {
	return &fault{text: fmt.Sprintf(format, args...), usage: true}
}

// failf is a failure in words of our own, lower case and without full stop.
func failf(format string, args ...any) error {
	return &fault{text: fmt.Sprintf(format, args...)}
}

// failure says that something failed for a reason: "object: Reason". It is nil
// when err is, and err itself when that is a fault already.
func failure(object string, err error) error {
	if err == nil {
		return nil
	}
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, posixtrace.ErrDirectory) {
		return directoryFault(err)
	}
	text := reason(err)
	if object != "" && !strings.HasPrefix(text, object+": ") {
		text = object + ": " + text
	}
	return &fault{text: text, hint: limitHint(err)}
}

// withHint adds the way out to an error.
func withHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	f := *asFailure(err)
	f.hint = hint
	return &f
}

// withStatus gives an error a status of its own.
func withStatus(err error, status int) error {
	if err == nil {
		return nil
	}
	f := *asFailure(err)
	f.status = status
	return &f
}

// Exit ends the command with a status and without a message.
func Exit(status int) error { return &fault{silent: true, status: status, text: "exit"} }

// reason puts an error into the words of the other commands of the system: no
// names of functions, error numbers as strerror(3) has them.
func reason(err error) string {
	switch e := err.(type) {
	case *fault:
		return e.text
	case syscall.Errno:
		return strerror(e)
	case *posixtrace.Error:
		if e.Cause == nil {
			return strerror(e.Err)
		}
		return reason(e.Cause)
	case *fs.PathError:
		return e.Path + ": " + reason(e.Err)
	case *os.LinkError:
		return e.New + ": " + reason(e.Err)
	case *os.SyscallError:
		return reason(e.Err)
	}
	text := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) && err == io.ErrUnexpectedEOF {
		return "unexpected end"
	}
	// A wrapped error keeps its own words and gets the reason in ours.
	if inner := errors.Unwrap(err); inner != nil {
		if before, ok := strings.CutSuffix(text, inner.Error()); ok {
			return before + reason(inner)
		}
	}
	return text
}

// strerror is strerror(3): Go has the same texts in lower case.
func strerror(e syscall.Errno) string {
	s := e.Error()
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// Is makes a fault found by the condition it stands for.
func (f *fault) Is(target error) bool { return f.is != nil && target == f.is }

// plural counts things: "1 event", "2 events".
func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
