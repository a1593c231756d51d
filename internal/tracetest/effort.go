package tracetest

import "time"

// Effort measures the cost of an operation that must be fast whatever its input. It counts
// processor time: wall-clock time alone would include that of other programs on a busy machine.
type Effort struct {
	since time.Time
	spent time.Duration
}

// NewEffort starts a measurement.
func NewEffort() Effort { return Effort{time.Now(), spent()} }

// Over reports whether this process has used more than limit of processor time, or a hundred times that
// and two minutes have passed by the clock, as if it hung, and describes both.
func (e Effort) Over(limit time.Duration) (string, bool) {
	cpu, wall := spent()-e.spent, time.Since(e.since)
	return cpu.String() + " of processor time, " + wall.String() + " by the clock", cpu > limit || wall > max(100*limit, 2*time.Minute)
}
