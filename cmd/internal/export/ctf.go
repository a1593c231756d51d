package export

import (
	"errors"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/ctf"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writeCTF writes a trace of CTF: of several logs, a directory with one trace each, since a trace has
// one host and one clock.
func writeCTF(j *job) error {
	return writeDirectory(j.opt.dest, "metadata", func(dir string) error {
		if len(j.logs) == 1 {
			return j.writeTrace(j.logs[0], dir, 0)
		}
		for i, l := range j.logs {
			sub := filepath.Join(dir, strconv.Itoa(i+1))
			if err := os.Mkdir(sub, 0o777); err != nil {
				return cli.Failure(j.opt.dest, logfile.Bare(err))
			}
			if err := j.writeTrace(l, sub, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeTrace writes the trace of one log. The times of a damaged log may need another clock, for which
// the log is read again.
func (j *job) writeTrace(l *log, dir string, i int) error {
	err := j.tryTrace(l, dir, i, l.Live != nil)
	if err != nil && errors.Is(err, ctf.ErrRange) && l.Live == nil {
		if err = l.Reader.Rewind(); err == nil {
			err = emptyDirectory(dir)
		}
		if err == nil {
			err = j.tryTrace(l, dir, i, true)
		}
	}
	return cli.Failure(j.opt.dest, logfile.Bare(err))
}

// tryTrace writes the trace of one log. If epoch is set, the clock can count all times since 1970.
func (j *job) tryTrace(l *log, dir string, i int, epoch bool) error {
	attr, origin := l.Reader.Attr(), l.Reader.Origin()
	created := attr.CreateTime.UTC().Format(time.RFC3339Nano)
	t := ctf.Create(dir, origin.BootID+"\x00"+created+"\x00"+attr.Name+"\x00"+strconv.Itoa(origin.PID)+"\x00"+j.opt.text+"\x00"+strconv.Itoa(i))
	t.Name, t.Resolution, t.Epoch = l.eventName, int64(attr.ClockResolution), epoch
	t.Env = []ctf.Variable{
		{Name: "hostname", Value: escape.String(origin.Host)},
		{Name: "boot_id", Value: escape.String(origin.BootID)},
		{Name: "pid", Value: strconv.Itoa(origin.Owner)}, // of command; the traced process may be younger than the log
		{Name: "command", Value: ctf.Quote(l.redact.Strings(origin.Command))},
		{Name: "trace_name", Value: escape.String(l.redact.String(attr.Name))},
		{Name: "trace_creation_datetime", Value: created},
		{Name: "tracer_name", Value: "posixtrace"},
		{Name: "tracer_version", Value: escape.String(attr.GenerationVersion)},
	}
	started := false
	err := l.read(j.ctx, j, t.Mark, func(recs []posixtrace.Record) error {
		if !started {
			started = true
			t.Begin(createdAt(&attr), recs[0].UnixNano)
		}
		return t.Add(recs)
	})
	if errors.Is(err, ctf.ErrOrder) || errors.Is(err, ctf.ErrRange) && epoch {
		j.env.Warn(cli.Failure(l.Name, err)) // what precedes is sound
		err = nil
	}
	st := l.Reader.Status()
	lost, carry := bits.Add64(st.Lost, st.LogLost, 0)
	if carry > 0 {
		lost = math.MaxUint64
	}
	if e := t.Close(lost); err == nil {
		err = e
	}
	return err
}

// createdAt returns the time of creation in nanoseconds, math.MaxInt64 if that cannot be expressed.
func createdAt(attr *posixtrace.StreamAttr) int64 {
	if y := attr.CreateTime.Year(); y < 1970 || y > 2261 {
		return math.MaxInt64
	}
	return attr.CreateTime.UnixNano()
}
