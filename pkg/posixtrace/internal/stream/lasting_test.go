package stream

import "time"

// lasting returns the condition of a loop that takes d, and as much longer as it needs until
// enough has happened, up to a minute: a busy machine may have run little else in d.
func lasting(d time.Duration, enough func() bool) func() bool {
	start := time.Now()
	return func() bool {
		spent := time.Since(start)
		return spent < d || spent < time.Minute && !enough()
	}
}
