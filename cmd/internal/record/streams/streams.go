// Package streams finds the active streams that a command line names, and drains their
// spools.
package streams

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// CheckName returns a usage error unless name is a valid stream name.
func CheckName(name string) error {
	ok := name != "" && len(name) <= posixtrace.NameMax && name[0] != '-' && name[0] != '.'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return cli.Usagef("invalid stream name '%s'; a name is 1 to %d of A-Z a-z 0-9 . _ - and begins with none of . -", name, posixtrace.NameMax)
	}
	return nil
}

// Operands returns the streams that the command line names: the operands, else -S, else
// $PTRACE_STREAM. It allows several operands if many is set.
func Operands(e *cli.Env, args *cli.Args, many bool) ([]string, error) {
	s, given := args.Lookup("stream")
	ops := args.Operands
	switch {
	case given && len(ops) > 0, len(ops) > 1 && !many:
		return nil, cli.Usagef("extra operand '%s'", ops[len(ops)-1])
	case given:
		ops = []string{s}
	case len(ops) == 0:
		s := e.Getenv("PTRACE_STREAM")
		switch {
		case s == "" && !Exist:
			return nil, cli.Usagef("missing operand: no log")
		case s == "":
			return nil, cli.Usagef("missing operand: no stream, and PTRACE_STREAM is not set")
		}
		ops = []string{s}
	}
	for _, s := range ops {
		if Exist && !cli.IsPath(s) {
			if err := CheckName(s); err != nil {
				return nil, err
			}
		}
	}
	return ops, nil
}

// Attach connects to a stream, drains its spool, and explains failures.
func Attach(nameOrPath string) (*posixtrace.Stream, error) {
	if !Exist {
		return nil, errLinux(nameOrPath)
	}
	s, err := posixtrace.Attach(nameOrPath)
	switch {
	case err == nil:
		DrainSpool(s, SpoolWait)
		return s, nil
	case errors.Is(err, syscall.EEXIST):
		return nil, cli.WithHint(cli.Failf("%s: several streams have this name", nameOrPath), Paths(nameOrPath))
	case !errors.Is(err, syscall.ELOOP) && IsLog(nameOrPath):
		return nil, cli.WithHint(cli.Failf("%s: a trace log, not an active stream", nameOrPath), "`ptrace-dump "+nameOrPath+"` reads it")
	case errors.Is(err, fs.ErrNotExist):
		return nil, &cli.Fault{
			Text: nameOrPath + ": no such stream",
			Hint: "`ptrace-ctl list` shows the active streams",
			Kind: ErrNone,
		}
	}
	return nil, cli.Failure(nameOrPath, err)
}

// errLinux reports that a stream was asked for where there are none.
func errLinux(name string) error {
	err := cli.Failf("%s: streams exist on Linux only", name)
	if IsLog(name) {
		return cli.WithHint(err, "this is a log: `ptrace-dump "+name+"` reads it, `ptrace-filter -i "+name+" -o NEW` filters it")
	}
	return cli.WithHint(err, "logs can be read here: ptrace-dump LOG")
}

// IsLog reports whether a file is a trace log in any state.
func IsLog(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() { // opening a FIFO might block
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

// Paths returns the paths of all streams with this name, one a line.
func Paths(name string) string {
	var paths []string
	list, _ := posixtrace.List()
	for _, s := range list {
		if s.Name == name {
			paths = append(paths, "use "+s.Path)
		}
	}
	return strings.Join(paths, "\n")
}

// ErrNone matches the error of Attach when there is no such stream.
var ErrNone = errors.New("no such stream")

// Named prefixes an error with the name of the stream.
func Named(stream string, err error) error {
	var f *cli.Fault
	if errors.As(err, &f) {
		return cli.Failf("%s: %s", stream, f.Text)
	}
	return cli.Failure(stream, err)
}
