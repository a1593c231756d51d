//go:build !linux

package streams

import (
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Exist is whether this system has streams.
const Exist = false

// SpoolWait bounds how long a command waits for another consumer of a spool. Where there are no
// streams there are no spools, and these functions do nothing.
const SpoolWait = 0

// DrainSpool does nothing.
func DrainSpool(*posixtrace.Stream, time.Duration) {}

// MarkSpool does nothing.
func MarkSpool(*cli.Env) {}

// WatchSpool does nothing.
func WatchSpool(*posixtrace.Stream) (stop func()) { return func() {} }
