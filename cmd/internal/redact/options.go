package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Options are the options with which a command reads patterns.
var Options = []cli.Option{
	{Long: "redact", Arg: "PATTERN", Help: "replace matches by ***; @tokens: known token forms"},
	{Long: "redact-file", Arg: "FILE", Help: "the same for each line of FILE", SameRow: true},
}

// maxFile bounds a file of patterns.
const maxFile = 1 << 20

// Read returns the set that the options ask for, nil for none. Its errors do not show patterns.
func Read(args *cli.Args) (*Set, error) {
	var given []string
	n := 0
	for _, g := range args.Given {
		switch g.Name {
		case "redact":
			n++
			if err := check(g.Value); err != nil {
				where := ""
				if len(args.All("redact")) > 1 {
					where = fmt.Sprintf(" (the pattern of number %d)", n)
				}
				return nil, cli.Usagef("invalid argument for '--redact'%s: %v", where, err)
			}
			given = append(given, g.Value)
		case "redact-file":
			lines, err := readFile(g.Value)
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
	return s, nil
}

// check returns the error of one pattern.
func check(text string) error {
	if strings.HasPrefix(text, "@") {
		if text != Tokens {
			return errNoToken
		}
		return nil
	}
	_, err := compile(text)
	return err
}

// readFile returns the patterns in a file, one a line.
func readFile(name string) ([]string, error) {
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
		if err := check(line); err != nil {
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

// New compiles patterns. Errors do not show them.
func New(given []string) (*Set, error) {
	s := &Set{given: given}
	seen := map[string]bool{}
	for _, text := range given {
		list := []string{text}
		if text == Tokens {
			list, s.keys = tokens, true
		}
		for _, text := range list {
			if seen[text] {
				continue
			}
			seen[text] = true
			if err := s.add(text); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add compiles a pattern into the set.
func (s *Set) add(text string) error {
	p, err := compile(text)
	if err != nil {
		return err
	}
	i := len(s.list)
	if i == maxPatterns {
		return errMany
	}
	s.list = append(s.list, p)
	if p.need == nil {
		s.always = append(s.always, i)
	}
	for _, l := range p.need {
		s.pairs.add(l, i)
	}
	return nil
}

// valid reports whether a pattern is text: neither binary nor of another encoding.
func valid(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// CommandLine returns the arguments of a command, with the patterns of the set themselves replaced
// too: --redact=SECRET shows nothing.
func (s *Set) CommandLine(argv []string) []string {
	if s == nil {
		return argv
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		for _, text := range s.given {
			if text != Tokens && text != "" {
				arg = strings.ReplaceAll(arg, text, Mark)
			}
		}
		out[i] = s.String(arg)
	}
	return out
}
