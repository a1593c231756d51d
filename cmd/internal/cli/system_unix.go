//go:build unix

package cli

import "strings"

// expand returns operands as they are: the shell has expanded patterns.
func expand(operands []string) []string { return operands }

// readerGone returns false: a signal ends the process.
func readerGone(error) bool { return false }

// setZone does nothing: package time knows $TZ.
func setZone() {}

// IsPath reports whether an operand is a path and cannot be the name of a stream.
func IsPath(s string) bool { return strings.Contains(s, "/") }
