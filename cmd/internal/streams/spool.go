package streams

import (
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/spool"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// What shells leave for a stream in its spool is taken over here: by the owner of
// the stream as it comes, by whoever connects to the stream before anything else, and
// by whoever shuts it down.

// SpoolWait bounds how long a command waits for another that takes lines over. Only
// one that was stopped needs longer.
const SpoolWait = 5 * time.Second

func init() {
	tool.BeforeShutdown(func(s *posixtrace.Stream, orphan bool) {
		if c, err := spool.NewConsumer(s, orphan); err == nil {
			c.Finish(SpoolWait)
			c.Close()
		}
	})
}

// DrainSpool takes over what is there for a stream now. What it cannot take is left to
// the next who comes, so its failure is none of the caller's.
func DrainSpool(s *posixtrace.Stream, wait time.Duration) {
	if c, err := spool.NewConsumer(s, false); err == nil {
		c.Drain(wait)
		c.Close()
	}
}

// MarkSpool has lines that the script writes from now on come after what was done for
// it until now, although its shell may know the time badly.
func MarkSpool(env *cli.Env) {
	if path := env.Getenv(spool.Env); path != "" {
		spool.Mark(path)
	}
}

// OpenSpool makes the spool of a new stream and returns its path, "" without. watched tells
// that watchSpool follows.
func OpenSpool(s *posixtrace.Stream, watched bool) string {
	path, err := spool.Create(s, watched)
	if err != nil {
		return ""
	}
	return path
}

// WatchSpool takes lines over as they come, until the function that it returns is
// called.
func WatchSpool(s *posixtrace.Stream) (stop func()) {
	w, err := spool.Watch(s)
	if err != nil {
		return func() {}
	}
	return w.Stop
}
