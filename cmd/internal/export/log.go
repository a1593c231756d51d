package export

import (
	"context"
	"io"
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/read/openlog"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// log is a log that was opened.
type log struct {
	*openlog.Log
	redact *redact.Filter // nil without --redact
	wanted catalog.Table[bool]
}

// openLogs opens the logs. It reports all that cannot be opened.
func openLogs(env *cli.Env, names []string) (logs []*log, err error) {
	for _, name := range names {
		l, e := openLog(env, name)
		if e != nil {
			env.Warn(e)
			err = cli.Exit(1)
			continue
		}
		logs = append(logs, l)
	}
	if err != nil {
		closeLogs(logs)
	}
	return logs, err
}

func openLog(env *cli.Env, name string) (*log, error) {
	in, err := openlog.Open(env, name)
	if err != nil {
		return nil, err
	}
	l := &log{Log: in}
	if l.Live == nil {
		// Damage that comes to light with the first event ends the log for the others, as in ptrace-dump.
		selection.FirstTime(l.Reader)
	}
	return l, nil
}

func closeLogs(logs []*log) {
	for _, l := range logs {
		l.Reader.Close()
		l.File.Close()
	}
}

// bounds resolves the selected times, which may count from the first and the last event of all logs.
func bounds(logs []*log, sel *selection.Selection) (since, until int64, err error) {
	if !sel.Since.Given && !sel.Until.Given {
		return math.MinInt64, math.MaxInt64, nil
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, l := range logs {
		if l.Live != nil {
			return 0, 0, cli.Failf("%s: --since and --until need a log that can be read twice", l.Name)
		}
		if t, ok := selection.FirstTime(l.Reader); ok {
			first = min(first, t)
		}
		if sel.FromLast() {
			t, err := l.LastTime()
			if err != nil {
				return 0, 0, cli.Failure(l.Name, err)
			}
			last = max(last, t)
		}
	}
	since, until = sel.Bounds(first, last)
	return since, until, nil
}

// isLossMark reports whether a type marks lost events.
func isLossMark(id posixtrace.EventID) bool {
	return id == posixtrace.EventOverflow || id == posixtrace.EventResume
}

// read calls mark for each mark of lost events, and add for the selected events of each batch, in
// order. It returns nil at the end of the sound part.
func (l *log) read(ctx context.Context, j *job, mark func(at int64, ended bool), add func(recs []posixtrace.Record) error) error {
	l.Reader.Select(selection.Between(j.since, j.until))
	interrupted := ctx
	if j.readOn {
		ctx = context.WithoutCancel(ctx)
	}
	var b posixtrace.Batch
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := l.Reader.NextBatch(&b)
		if err == io.EOF {
			return ctx.Err()
		}
		if err != nil {
			if interrupted.Err() != nil && (l.Live != nil || ctx.Err() != nil) {
				return ctx.Err()
			}
			j.env.Warn(cli.Failure(l.Name, err))
			return nil
		}
		recs := b.Records
		l.redact.Records(recs)
		j.progress.Add(uint64(len(recs)), recs[len(recs)-1].UnixNano)
		if recs = l.selected(recs, &j.opt.sel, mark); len(recs) > 0 {
			if err := add(recs); err != nil {
				return err
			}
		}
	}
}

// selected returns the selected events, in the memory of all.
func (l *log) selected(recs []posixtrace.Record, sel *selection.Selection, mark func(at int64, ended bool)) []posixtrace.Record {
	n := 0
	for i := range recs {
		rec := &recs[i]
		if isLossMark(rec.ID) {
			mark(rec.UnixNano, rec.ID == posixtrace.EventResume)
		}
		if !l.wants(sel, rec) {
			continue
		}
		if n != i {
			recs[n] = *rec
		}
		n++
	}
	return recs[:n]
}

func (l *log) wants(sel *selection.Selection, rec *posixtrace.Record) bool {
	if (sel.PIDs != nil || sel.TIDs != nil) && !sel.HasProcess(rec.PID, rec.TID) {
		return false
	}
	if sel.Include == nil && sel.Exclude == nil {
		return true
	}
	has, known := l.wanted.Get(rec.ID)
	if !known {
		name := l.eventName(rec.ID)
		has = sel.HasType(rec.ID, name)
		if name != "" {
			l.wanted.Put(rec.ID, has)
		}
	}
	return has
}
