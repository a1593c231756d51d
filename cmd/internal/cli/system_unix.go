//go:build unix

package cli

import (
	"strings"
	"time"
)

// expand returns operands as they are: the shell has expanded patterns.
func expand(operands []string) []string { return operands }

// readerGone returns false: a signal ends the process.
func readerGone(error) bool { return false }

// setNamedZone reports whether package time has found the zone, which it looks for by itself. If not, it
// uses UTC.
func setNamedZone(string) bool { return time.Local.String() != "UTC" }

// IsPath reports whether an operand is a path and cannot be the name of a stream.
func IsPath(s string) bool { return strings.Contains(s, "/") }
