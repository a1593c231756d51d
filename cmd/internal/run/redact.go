package run

import (
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// The secrets of a run are replaced where its events are made: here in the command line and in the
// output, in the tracer in what it reads, and by ptrace-event in its data and by whichever process
// drains the spool in its lines. Those find the patterns beside the stream.

// conceal replaces the secrets in the command line that the stream records.
func (p *runPlan) conceal() {
	if p.redact != nil {
		tool.RewriteCommandLine(p.redact.CommandLine)
	}
}

// publishRedact passes the patterns to the processes that record in the stream at this path. Without
// them the command must not start.
func (s *session) publishRedact(stream string) error {
	if s.plan.redact == nil {
		return nil
	}
	if s.plan.attach != 0 && streams.OpenSpool(s.stream, true) == "" {
		return errNoPatterns
	}
	if err := redact.Publish(stream, s.plan.redact); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errNoPatterns
		}
		return cli.Failure("cannot pass on the patterns of --redact", err)
	}
	return nil
}

var errNoPatterns = cli.Failf("no room for the patterns of --redact")

// redactText replaces the secrets in a text.
func (s *session) redactText(text string) string {
	b, n := s.plan.redact.Bytes([]byte(text))
	if n == 0 {
		return text
	}
	s.redacted.Add(uint64(n))
	return string(b)
}

// redactProgram replaces the secrets in the path and in the arguments of the command.
func (s *session) redactProgram(d posixtrace.ExecData) posixtrace.ExecData {
	if s.plan.redact == nil {
		return d
	}
	d.Argv = slices.Clone(d.Argv)
	s.redacted.Add(uint64(s.plan.redact.Exec(&d, false)))
	return d
}

// redactLines returns the function that replaces the secrets in the lines of one output, nil for none.
func redactLines(set *redact.Set, count *atomic.Uint64) func(line []byte, f capture.Flags) []byte {
	if set == nil {
		return nil
	}
	l := set.NewLine()
	return func(line []byte, f capture.Flags) []byte {
		more := redact.Ends
		switch {
		case f&capture.Continues != 0:
			more = redact.Continues
		case f&capture.Return != 0:
			more = redact.Returns
		}
		line, n := l.Next(line, more)
		if n > 0 {
			count.Add(uint64(n))
		}
		return line
	}
}

// countRedacted adds the matches that this process has replaced to those of the stream, which the shutdown
// records, and reports how many there are.
func (s *session) countRedacted() {
	if s.plan.redact == nil {
		return
	}
	info, err := s.stream.Info()
	if err != nil {
		return
	}
	n := s.redacted.Load()
	if r := redact.Of(info.Path); r != nil {
		r.Add(int(n))
		n = r.Close()
	}
	if n > 0 {
		s.env.Note(cli.Plural(n, "match", "matches") + " redacted")
	}
}
