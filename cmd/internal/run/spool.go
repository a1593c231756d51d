package run

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
)

// spoolEnv makes the spool of the session's stream, starts to drain it, and returns environ
// with its path. If there is no space for a spool, the command runs without one, not even that
// of an enclosing stream.
func (s *session) spoolEnv(environ []string) []string {
	path := streams.OpenSpool(s.stream, true)
	if path == "" {
		return slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, spool.Env+"=") })
	}
	s.spool, _ = spool.Watch(s.stream)
	return setEnv(environ, spool.Env, path)
}

// closeSpool drains and seals the spool. Lines that processes which outlive the command try to
// append afterwards have no effect.
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
