package streams

import (
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Commands drain what shells left for a stream in its spool: the owner of the stream
// continuously, other commands when they connect and before they shut the stream down.

// Exist is whether this system has streams.
const Exist = true

// SpoolWait bounds how long a command waits for another consumer. Only a stopped consumer
// takes longer.
const SpoolWait = 5 * time.Second

func init() {
	spool.Rewriter = func(stream string) (spool.Rewrite, func()) {
		r := redact.Of(stream)
		if r == nil {
			return nil, nil
		}
		return r.Text, func() { r.Close() }
	}
	tool.BeforeShutdown(func(s *posixtrace.Stream, ended int64) {
		if c, err := spool.NewConsumer(s, ended != 0); err == nil {
			c.Finish(SpoolWait)
			c.Close()
			recordRedacted(s, ended)
		}
	})
}

// recordRedacted records how many matches of --redact were replaced, if the stream has patterns. at is the
// time of the event, 0 for now.
func recordRedacted(s *posixtrace.Stream, at int64) {
	info, err := s.Info()
	if err != nil {
		return
	}
	n, ok := redact.Count(info.Path)
	if !ok {
		return
	}
	id, err := s.EventID(redact.Event)
	if err != nil || !id.User() {
		return
	}
	if rec, err := s.Recorder(); err == nil {
		rec.Record(posixtrace.EventInfo{ID: id, PID: info.PID, UnixNano: at}, strconv.AppendUint(nil, n, 10))
		rec.Close()
	}
}

// DrainSpool drains the spool of a stream. It ignores errors: the next command retries.
func DrainSpool(s *posixtrace.Stream, wait time.Duration) {
	if c, err := spool.NewConsumer(s, false); err == nil {
		c.Drain(wait)
		c.Close()
	}
}

// MarkSpool orders the lines that the script writes from now on after the work done so far,
// even if the shell's clock is coarse.
func MarkSpool(env *cli.Env) {
	if path := env.Getenv(spool.Env); path != "" {
		spool.Mark(path)
	}
}

// OpenSpool creates the spool of a new stream and returns its path, or "" on failure. Set
// watched if WatchSpool follows.
func OpenSpool(s *posixtrace.Stream, watched bool) string {
	path, err := spool.Create(s, watched)
	if err != nil {
		return ""
	}
	return path
}

// WatchSpool drains the spool continuously until the returned function is called.
func WatchSpool(s *posixtrace.Stream) (stop func()) {
	w, err := spool.Watch(s)
	if err != nil {
		return func() {}
	}
	return w.Stop
}
