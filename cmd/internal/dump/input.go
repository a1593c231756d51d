package dump

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/read/symbols"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// input is a log or stream that ptrace-dump reads.
type input struct {
	name  string
	again string // the operand or option with which another command reads it; "" if none can
	source
	src     *output.Source      // for the forms
	records []posixtrace.Record // read from the source, and next

	cursor   *cursor         // nil without --cursor
	redact   *redact.Filter  // nil without --redact
	spaces   *symbols.Spaces // nil without --symbols
	ends     *analysis.Ends  // nil without --failed and --slower-than
	verdicts catalog.Table[verdict]
}

func newInput(name string, s source) *input {
	in := &input{name: name, source: s}
	in.src = output.NewSource(in.typeName)
	return in
}

// openInputs opens all operands before it reads any, so that a mistyped operand consumes no
// events.
func openInputs(e *cli.Env, args *cli.Args, opt *options, out *sink) (inputs []*input, err error) {
	add := func(again string, in *input, err error) bool {
		if err != nil {
			e.Warn(err)
			return false
		}
		if in.again = again; again == "-" || is[*pipeLog](in) {
			in.again = ""
		}
		in.redactWith(opt.redact)
		inputs = append(inputs, in)
		return true
	}
	stream := func(s string) bool {
		in, err := openStream(e, s, opt, out)
		return add("--stream="+s, in, err)
	}
	ok := true
	if s, given := args.Lookup("stream"); given {
		if streams.Exist && !cli.IsPath(s) {
			if err := streams.CheckName(s); err != nil {
				return nil, err
			}
		}
		ok = stream(s)
	} else if len(args.Operands) == 0 {
		s := e.Getenv("PTRACE_STREAM")
		switch {
		case s == "" && !streams.Exist:
			return nil, cli.Usagef("missing operand: no log")
		case s == "":
			return nil, cli.Usagef("missing operand: no log or stream, and PTRACE_STREAM is not set")
		}
		ok = stream(s)
	}
	for _, s := range args.Operands {
		in, err := openOperand(e, s, opt, out)
		ok = add(s, in, err) && ok
	}
	if !ok {
		closeInputs(inputs)
		return nil, cli.Exit(1)
	}
	return inputs, nil
}

func closeInputs(inputs []*input) {
	for _, in := range inputs {
		in.close()
	}
}

// openOperand opens an operand: standard input, a file, or else a stream.
func openOperand(e *cli.Env, s string, opt *options, out *sink) (*input, error) {
	if s == "" {
		return nil, cli.Failure("''", syscall.ENOENT)
	}
	if s == "-" {
		return openLog(e, "standard input", e.Stdin, opt, out)
	}
	if !cli.IsPath(s) {
		if _, err := os.Stat(s); errors.Is(err, fs.ErrNotExist) {
			if !streams.Exist {
				return nil, cli.Failure(s, syscall.ENOENT)
			}
			if streams.CheckName(s) == nil {
				in, err := openStream(e, s, opt, out)
				if err == nil || !errors.Is(err, streams.ErrNone) {
					return in, err
				}
			}
			return nil, cli.WithHint(cli.Failure(s, syscall.ENOENT), "there is no active stream of this name either; `ptrace-ctl list` shows them")
		}
	}
	f, err := os.Open(s)
	if err != nil {
		return nil, cli.Failure(s, err)
	}
	in, err := openLog(e, s, f, opt, out)
	if err == nil {
		return in, nil
	}
	f.Close()
	if streams.Exist && cli.IsPath(s) && errors.Is(err, syscall.EINVAL) {
		if in, serr := openStream(e, s, opt, out); serr == nil {
			return in, nil
		}
	}
	return nil, err
}

// next returns the next event, or the error of read.
func (in *input) next(ctx context.Context) (*posixtrace.Record, error) {
	if len(in.records) == 0 {
		var err error
		if in.records, err = in.read(ctx); err != nil {
			in.records = nil
			return nil, err
		}
		in.redact.Records(in.records)
	}
	rec := &in.records[0]
	in.records = in.records[1:]
	return rec, nil
}

// poll looks for what the source has got (followed.poll).
func (in *input) poll() (*posixtrace.Record, error) {
	rec, err := in.source.(followed).poll()
	if err == nil {
		in.redact.Record(rec)
	}
	return rec, err
}

// reportLoss reports the number of lost events; with strict, as a failure.
func (in *input) reportLoss(env *cli.Env, strict bool) {
	st, err := in.status()
	if err != nil || st.Lost == 0 && st.LogLost == 0 {
		return
	}
	text := in.name + ": " + cli.Plural(st.Lost+st.LogLost, "event was", "events were") + " lost"
	if strict {
		env.Warn(cli.Failf("%s", text))
	} else {
		env.Note(text)
	}
}
