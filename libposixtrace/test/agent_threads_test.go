package test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// Any number of threads call at once. A reader call that waits lets other calls run, and ends by an event,
// a shutdown, a signal handler, a deadline or a cancellation, which lose no event.
func TestAgentThreads(t *testing.T) {
	program := agentProgram(t, "agent_threads.c")
	for _, what := range []string{"blocked", "crowd", "many_blocked", "interrupted", "interrupted_early", "storm", "cancelled", "cancelled_late", "cancelled_many",
		"slow_log", "slow_create", "stopped_elsewhere", "log_threads"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tracetest.Only(t, !strings.HasPrefix(what, "cancelled") || !ctest.Sanitized(),
				"without AddressSanitizer, which does not know that a cancelled thread gives up its stack")
			ctest.Run(t, program, what, filepath.Join(t.TempDir(), "log.trace"))
		})
	}
}

// Two threads call at once with one trace id: each gets what it gets alone, or EINVAL when the other has
// ended the stream or closed the log, which happens once.
func TestAgentPairsOfCalls(t *testing.T) {
	ctest.Run(t, agentProgram(t, "agent_pairs.c"), filepath.Join(t.TempDir(), "log.trace"))
}
