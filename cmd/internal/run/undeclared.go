package run

import (
	"bytes"
	"io"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/files"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// mostUndeclared bounds the lines of --undeclared. ptrace-dump shows all.
const mostUndeclared = 50

// withFiles returns the command line with the events that --undeclared needs.
func withFiles(args *cli.Args) *cli.Args {
	const needed = "proc,files"
	list := slices.Clone(args.Given)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == "events" {
			list[i].Value += "," + needed
			return &cli.Args{Given: list, Operands: args.Operands}
		}
	}
	return &cli.Args{Given: append(list, cli.Given{Name: "events", Value: "command," + needed}), Operands: args.Operands}
}

// checkDeclared prints what the command has used outside of the declaration, as ptrace-dump --undeclared does,
// in one write. It prints nothing if that is nothing.
func (s *session) checkDeclared(r *posixtrace.Reader, lost uint64) {
	f := files.New()
	src := f.NewSource(r.EventName)
	var b posixtrace.Batch
	var err error
	for err == nil {
		if err = r.NextBatch(&b); err == nil {
			src.Add(b.Records)
		}
	}
	if err == io.EOF {
		err = logfile.Soundness(r.Attr().Name, r)
	}
	if err != nil {
		s.unchecked(err)
	}
	var out bytes.Buffer
	found, known, _ := f.WriteUndeclared(&out, &files.Options{Top: mostUndeclared, Lost: lost}, s.plan.declared)
	if found || !known {
		s.outside = true
		s.env.Stderr.Write(cli.Harmless(out.Bytes()))
	}
	if lost > 0 && s.plan.log == "" {
		s.env.NoteHint("not all is known of what is undeclared: "+cli.Plural(lost, "event was", "events were")+" lost", "--log records all events")
	}
}

// unchecked reports that what the command has used is not known.
func (s *session) unchecked(err error) {
	if s.plan.declared != nil {
		s.outside = true
		s.env.Note("cannot say what is undeclared: " + cli.Reason(err))
	}
}
