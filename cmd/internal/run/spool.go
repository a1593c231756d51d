package run

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/streams"
)

// spoolEnv makes the spool of the session's stream, begins to take lines over from
// it, and returns environ with its path. Without room for one the command runs
// without, and without that of a stream farther out.
func (s *session) spoolEnv(environ []string) []string {
	path := streams.OpenSpool(s.stream, true)
	if path == "" {
		return slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, spool.Env+"=") })
	}
	s.spool, _ = spool.Watch(s.stream)
	return setEnv(environ, spool.Env, path)
}

// closeSpool takes over the last lines. What processes that the command has left
// behind try to write from now on has no effect.
func (s *session) closeSpool() {
	if s.spool == nil {
		return
	}
	s.spool.Stop()
	if c, err := spool.NewConsumer(s.stream, false); err == nil {
		c.Finish(streams.SpoolWait)
		c.Close()
	}
}
