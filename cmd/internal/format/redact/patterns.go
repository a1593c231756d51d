// The patterns of --redact and --redact-file.

package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// PatternOptions are the options with which a command reads patterns.
var PatternOptions = []cli.Option{
	{Long: "redact", Arg: "PATTERN", Help: "replace matches by ***; @tokens: known token forms"},
	{Long: "redact-file", Arg: "FILE", Help: "the same for each line of FILE", SameRow: true},
}

// maxFile bounds a file of patterns.
const maxFile = 1 << 20

// ReadPatterns returns the set that the options ask for, nil for none, and makes the messages of the command hide what it
// matches. Its errors do not show patterns.
func ReadPatterns(env *cli.Env, args *cli.Args) (*Set, error) {
	var given []string
	n := 0
	for _, g := range args.Given {
		switch g.Name {
		case "redact":
			n++
			if err := Check(g.Value); err != nil {
				where := ""
				if len(args.All("redact")) > 1 {
					where = fmt.Sprintf(" (the pattern of number %d)", n)
				}
				return nil, cli.Usagef("invalid argument for '--redact'%s: %v", where, err)
			}
			given = append(given, g.Value)
		case "redact-file":
			lines, err := readPatterns(g.Value)
			if err != nil {
				return nil, err
			}
			given = append(given, lines...)
		}
	}
	if n == 0 && !args.Has("redact-file") {
		return nil, nil
	}
	s, err := New(given)
	if err != nil {
		return nil, cli.Usagef("invalid arguments for '--redact': %v", err)
	}
	env.Conceal = s.String
	return s, nil
}

// readPatterns returns the patterns in a file, one a line.
func readPatterns(name string) ([]string, error) {
	fault := func(err error) error { return cli.Failure(name, err) }
	f, err := os.Open(name)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fault(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fault(err)
	}
	if len(b) > maxFile {
		return nil, fault(cli.Failf("%s: a file of patterns has at most 1 MiB", name))
	}
	var list []string
	for i, line := range lines(b) {
		if err := Check(line); err != nil {
			return nil, cli.Failf("%s: line %d: %v", name, i+1, err)
		}
		list = append(list, line)
	}
	return list, nil
}

// lines returns the patterns in the text of a file, with their numbers: its lines that are neither
// empty nor comments.
func lines(b []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
		for i := 0; len(b) > 0; i++ {
			var line []byte
			line, b, _ = bytes.Cut(b, []byte{'\n'})
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(line) == 0 || line[0] == '#' {
				continue
			}
			if !yield(i, string(line)) {
				return
			}
		}
	}
}
