package stream

import (
	"testing"
	"time"
)

// setPatience has readers and flushes wait that long for writers, until the test is over. A
// test whose writers never go on by themselves makes it short; a test of order makes it long, so
// that a busy machine is no failure.
func setPatience(t testing.TB, d time.Duration) {
	usual := patience
	patience = d
	t.Cleanup(func() { patience = usual })
}

// forLongStops is the patience of tests whose writers are stopped for as long as the test likes.
const forLongStops = 500 * time.Microsecond
