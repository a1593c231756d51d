// Package export implements ptrace-export: it writes logs in the formats of other systems.
//
// options.go has the command line and the formats, log.go reads the logs, directory.go makes the
// output appear only when it is whole; each format has a file.
package export

import (
	"context"
	"os"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// job is one export.
type job struct {
	env          *cli.Env
	ctx          context.Context
	opt          *options
	logs         []*log
	since, until int64
	progress     *output.Progress
	readOn       bool // an interrupt does not end reading, except from a pipe
	empty        bool // nothing was to send, which is reported
}

func export(env *cli.Env, args *cli.Args) error {
	opt, err := readOptions(env, args)
	if err != nil {
		return err
	}
	j := &job{env: env, opt: opt}
	if j.logs, err = openLogs(env, opt.logs); err != nil {
		return err
	}
	defer closeLogs(j.logs)
	j.conceal()
	if j.since, j.until, err = bounds(j.logs, &opt.sel); err != nil {
		return err
	}
	ctx, interrupted := cli.CatchInterrupts(context.Background())
	j.ctx, j.progress = ctx, j.newProgress()
	stop, err := stopWith(ctx, j.logs)
	if err != nil {
		return cli.Failure("pipe", err)
	}
	defer stop()
	err = opt.format.write(j)
	j.progress.Clear()
	if sig := interrupted(); sig != nil && ctx.Err() != nil && err != nil {
		cli.DieBy(sig.(syscall.Signal))
	}
	if err != nil {
		return err
	}
	j.report()
	j.reportRedacted()
	return nil
}

// newProgress returns the line of progress, which has a part of the whole if there is one log.
func (j *job) newProgress() *output.Progress {
	l := j.logs[0]
	if len(j.logs) > 1 || !l.Seekable() {
		return output.NewProgress(j.env, nil)
	}
	line := output.NewProgress(j.env, func() (int64, bool) {
		f, err := os.Open(l.File.Name())
		if err != nil {
			return 0, false
		}
		defer f.Close()
		r, err := posixtrace.NewReader(f)
		if err != nil {
			return 0, false
		}
		defer r.Close()
		last, err := selection.LastTime(r, f)
		return last, err == nil
	})
	if line != nil {
		line.From, line.To = j.since, j.until
	}
	return line
}

// stopWith ends the reads of pipes when the context ends. The function that it returns releases what
// that needs.
func stopWith(ctx context.Context, logs []*log) (func(), error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		if l.Live != nil {
			l.Live.Stop = r
		}
	}
	stop := context.AfterFunc(ctx, func() { w.Close() })
	return func() {
		if stop() {
			w.Close()
		}
		r.Close()
	}, nil
}

// noteOutside reports times of the command line that select nothing.
func (j *job) noteOutside() {
	var logs []selection.Dated
	for _, l := range j.logs {
		logs = append(logs, selection.Dated{Reader: l.Reader, Last: l.LastTime})
	}
	j.opt.sel.NoteOutside(j.env, logs)
}

// report reports what is missing in the logs, and names of the command line that they do not have.
func (j *job) report() {
	sound := true
	var types []posixtrace.EventType
	for _, l := range j.logs {
		fault := l.Soundness()
		j.env.Warn(fault)
		list, err := l.Reader.EventTypes()
		sound = sound && fault == nil && err == nil
		types = append(types, list...)
		if st := l.Reader.Status(); st.Lost+st.LogLost > 0 {
			j.env.Note(l.Name + ": " + cli.Plural(st.Lost+st.LogLost, "event was", "events were") + " lost")
		}
	}
	if sound && !j.empty {
		j.noteOutside()
	}
	if asked := selection.Asked(j.opt.sel.Include, j.opt.sel.Exclude); len(asked) > 0 && sound {
		selection.NoteUnmatched(j.env, asked, types)
	}
}
