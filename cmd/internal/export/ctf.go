package export

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/ctf"
	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
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

// writeTrace writes the trace of one log.
func (j *job) writeTrace(l *log, dir string, i int) error {
	attr, origin := l.reader.Attr(), l.reader.Origin()
	created := attr.CreateTime.UTC().Format(time.RFC3339Nano)
	t := ctf.Create(dir, origin.BootID+"\x00"+created+"\x00"+attr.Name+"\x00"+strconv.Itoa(origin.PID)+"\x00"+j.opt.text+"\x00"+strconv.Itoa(i))
	t.Name, t.Resolution = l.reader.EventName, int64(attr.ClockResolution)
	t.Env = []ctf.Variable{
		{Name: "hostname", Value: escape.String(origin.Host)},
		{Name: "boot_id", Value: escape.String(origin.BootID)},
		{Name: "pid", Value: strconv.Itoa(origin.PID)},
		{Name: "command", Value: ctf.Quote(origin.Command)},
		{Name: "trace_name", Value: escape.String(attr.Name)},
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
	if err == nil {
		st := l.reader.Status()
		err = t.Close(st.Lost + st.LogLost)
	}
	return cli.Failure(j.opt.dest, logfile.Bare(err))
}

// createdAt returns the time of creation in nanoseconds, math.MaxInt64 if that cannot be expressed.
func createdAt(attr *posixtrace.StreamAttr) int64 {
	if y := attr.CreateTime.Year(); y < 1970 || y > 2261 {
		return math.MaxInt64
	}
	return attr.CreateTime.UnixNano()
}
