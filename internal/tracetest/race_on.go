//go:build race

package tracetest

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = true
