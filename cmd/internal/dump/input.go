package dump

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
	"github.com/posixtrace/posixtrace/cmd/internal/openlog"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/position"
	"github.com/posixtrace/posixtrace/cmd/internal/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
	"github.com/posixtrace/posixtrace/cmd/internal/symbols"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// input is a log or stream that ptrace-dump reads.
type input struct {
	name   string
	src    *output.Source
	stream *posixtrace.Stream // nil for a log
	reader *posixtrace.Reader // nil if the events of the stream are consumed
	follow bool
	out    *sink

	log  *openlog.Log        // nil for a stream
	file *os.File            // of a log in a regular file that is not compressed
	pipe *openlog.LiveReader // of a log that is in no regular file

	opened *os.File // to be closed; nil for standard input and streams

	batch   posixtrace.Batch    // read at once, unless the input is followed
	records []posixtrace.Record // the rest of the batch
	batches int                 // number of batches read
	ahead   *ahead              // reads ahead; may be nil

	// For a stream whose events are consumed:
	buf []byte
	rec posixtrace.Record

	open   func() (*posixtrace.Reader, error) // returns a new reader; nil if there can be only one
	since  int64                              // lower bound of the reader's times
	cursor *cursor                            // nil without --cursor

	// For a followed input:
	stopSpool    func()            // ends what followSpool started; nil if it started nothing
	tail         position.Position // how far it was read
	snapshotAt   time.Time         // when the reader took its snapshot
	nextSnapshot time.Time         // earliest time of the next snapshot
	pumped       chan pumped
	taken        chan struct{}
	holding      bool // an event of pumped is in use
	ended        bool // no event follows
	known        posixtrace.Status

	redact   *redact.Filter  // nil without --redact
	spaces   *symbols.Spaces // nil without --symbols
	ends     *analysis.Ends  // nil without --failed and --slower-than
	verdicts [4096]verdict   // by event type; 0 if undecided
}

// openInputs opens all operands before it reads any, so that a mistyped operand consumes no
// events.
func openInputs(e *cli.Env, args *cli.Args, opt *options, out *sink) (inputs []*input, err error) {
	add := func(in *input, err error) bool {
		if err != nil {
			e.Warn(err)
			return false
		}
		if opt.follow && in.log != nil && in.log.Compressed() {
			e.Warn(cli.WithHint(cli.Failf("%s: a compressed log cannot be followed", in.name), "without --follow it is read to its end"))
			in.reader.Close()
			return false
		}
		in.follow = opt.follow
		in.tail.Window = position.Lateness
		in.out = out
		in.redactWith(opt.redact)
		in.followSpool()
		inputs = append(inputs, in)
		return true
	}
	ok := true
	if s, given := args.Lookup("stream"); given {
		if streams.Exist && !cli.IsPath(s) {
			if err := streams.CheckName(s); err != nil {
				return nil, err
			}
		}
		ok = add(openStream(e, s, opt))
	} else if len(args.Operands) == 0 {
		s := e.Getenv("PTRACE_STREAM")
		switch {
		case s == "" && !streams.Exist:
			return nil, cli.Usagef("missing operand: no log")
		case s == "":
			return nil, cli.Usagef("missing operand: no log or stream, and PTRACE_STREAM is not set")
		}
		ok = add(openStream(e, s, opt))
	}
	for _, s := range args.Operands {
		ok = add(openOperand(e, s, opt, out)) && ok
	}
	if !ok {
		closeInputs(inputs)
		return nil, cli.Exit(1)
	}
	return inputs, nil
}

func closeInputs(inputs []*input) {
	for _, in := range inputs {
		if in.stopSpool != nil {
			in.stopSpool()
		}
		if in.ahead != nil {
			in.ahead.end()
		}
		if in.reader != nil {
			in.reader.Close()
		}
		if in.stream != nil {
			in.stream.Close()
		}
		if in.opened != nil {
			in.opened.Close()
		}
	}
}

// openOperand opens an operand: standard input, a file, or else a stream.
func openOperand(e *cli.Env, s string, opt *options, out *sink) (*input, error) {
	if s == "" {
		return nil, cli.Failure("''", syscall.ENOENT)
	}
	if s == "-" {
		return openLogInput(e, "standard input", e.Stdin, out)
	}
	if !cli.IsPath(s) {
		if _, err := os.Stat(s); errors.Is(err, fs.ErrNotExist) {
			if !streams.Exist {
				return nil, cli.Failure(s, syscall.ENOENT)
			}
			if streams.CheckName(s) == nil {
				in, err := openStream(e, s, opt)
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
	in, err := openLogInput(e, s, f, out)
	if err == nil {
		in.opened = f
		return in, nil
	}
	f.Close()
	if streams.Exist && cli.IsPath(s) && errors.Is(err, syscall.EINVAL) {
		if in, serr := openStream(e, s, opt); serr == nil {
			return in, nil
		}
	}
	return nil, err
}

// openLogInput opens a log in any state.
func openLogInput(e *cli.Env, name string, f *os.File, out *sink) (*input, error) {
	l, err := openlog.Read(e, name, f, func() { out.flush() })
	if err != nil {
		return nil, err
	}
	in := &input{name: name, log: l, reader: l.Reader, pipe: l.Live}
	if l.Live == nil {
		in.open = l.Again
	}
	if l.Seekable() {
		in.file = f
	}
	in.src = output.NewSource(func(id posixtrace.EventID) string { return in.reader.EventName(id) })
	return in, nil
}

// verdict says what a selection does with an event type.
type verdict uint8

const (
	decided verdict = 1 << iota
	wanted
	awaited
)

// verdictOn returns the verdict of a selection on an event type.
func (in *input) verdictOn(sel *selects, id posixtrace.EventID) verdict {
	if int(id) < len(in.verdicts) && in.verdicts[id] != 0 {
		return in.verdicts[id]
	}
	name := in.src.Name(id)
	v := decided
	if sel.wants(id, name) {
		v |= wanted
	}
	if sel.await != nil && sel.await.Has(id, name) {
		v |= awaited
	}
	if int(id) < len(in.verdicts) {
		in.verdicts[id] = v
	}
	return v
}

// soundness returns why a log that was read to its end is not whole, or nil.
func (in *input) soundness() error {
	if in.reader == nil || in.stream != nil || in.pumped != nil && !in.ended {
		return nil
	}
	if in.log == nil {
		return logfile.Soundness(in.name, in.reader)
	}
	return in.log.Soundness()
}

// status returns the status of the stream without resetting it. If a followed stream has
// ended, it returns the status in the log, or the last known status.
func (in *input) status() (posixtrace.Status, error) {
	if in.stream == nil {
		return in.reader.Status(), nil
	}
	st, err := in.stream.PeekStatus()
	switch {
	case err == nil:
		in.known = st
	case !in.follow:
		return st, err
	case in.reader != nil:
		return in.reader.Status(), nil
	}
	return in.known, nil
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

// followSpool drains the spool of a followed stream: the owner of the stream may be gone.
func (in *input) followSpool() {
	if in.follow && in.stream != nil {
		in.stopSpool = streams.WatchSpool(in.stream)
	}
}
