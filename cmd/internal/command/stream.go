package command

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// checkStreamName is a usage error unless name may be a stream's.
func checkStreamName(name string) error {
	ok := name != "" && len(name) <= posixtrace.NameMax && name[0] != '-' && name[0] != '.'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return usagef("invalid stream name '%s'; a name is 1 to %d of A-Z a-z 0-9 . _ - and begins with none of . -", name, posixtrace.NameMax)
	}
	return nil
}

// streamOperands returns the streams a command is to work on: the operands,
// else -S, else $PTRACE_STREAM. Several operands are allowed if many is set.
func streamOperands(e *Env, args *Args, many bool) ([]string, error) {
	s, given := args.Lookup("stream")
	ops := args.Operands
	switch {
	case given && len(ops) > 0, len(ops) > 1 && !many:
		return nil, usagef("extra operand '%s'", ops[len(ops)-1])
	case given:
		ops = []string{s}
	case len(ops) == 0:
		s := e.Getenv("PTRACE_STREAM")
		if s == "" {
			return nil, usagef("missing operand: no stream, and PTRACE_STREAM is not set")
		}
		ops = []string{s}
	}
	for _, s := range ops {
		if !strings.Contains(s, "/") {
			if err := checkStreamName(s); err != nil {
				return nil, err
			}
		}
	}
	return ops, nil
}

// attach connects to a stream and says in plain words why it cannot.
func attach(nameOrPath string) (*posixtrace.Stream, error) {
	s, err := posixtrace.Attach(nameOrPath)
	switch {
	case err == nil:
		takeSpool(s, spoolWait)
		return s, nil
	case errors.Is(err, syscall.EEXIST):
		return nil, withHint(failf("%s: several streams have this name", nameOrPath), pathsOf(nameOrPath))
	case !errors.Is(err, syscall.ELOOP) && isLog(nameOrPath):
		return nil, withHint(failf("%s: a trace log, not an active stream", nameOrPath), "`ptrace-dump "+nameOrPath+"` reads it")
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fault{
			text: nameOrPath + ": no such stream",
			hint: "`ptrace-ctl list` shows the active streams",
			is:   errNoStream,
		}
	}
	return nil, failure(nameOrPath, err)
}

// isLog reports whether a file is a trace log, of whatever state.
func isLog(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() { // to open a FIFO might block
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := posixtrace.NewReader(f)
	if err != nil {
		return false
	}
	r.Close()
	return true
}

// pathsOf lists the paths of the streams of one name, one for each line.
func pathsOf(name string) string {
	var paths []string
	list, _ := posixtrace.List()
	for _, s := range list {
		if s.Name == name {
			paths = append(paths, "use "+s.Path)
		}
	}
	return strings.Join(paths, "\n")
}

// errNoStream is in the chain of the error that attach returns when there is no
// such stream.
var errNoStream = errors.New("no such stream")

// named puts the stream's name before an error of a verb.
func named(stream string, err error) error {
	var f *fault
	if errors.As(err, &f) {
		return failf("%s: %s", stream, f.text)
	}
	return failure(stream, err)
}
