package tracetest

import (
	"syscall"
	"time"
)

// Effort is what a thing that a test does has cost so far. It is for things that must not
// take long whatever they are given: the time by the clock alone would be that of a busy
// machine, too.
type Effort struct {
	since time.Time
	spent time.Duration
}

// NewEffort begins to count.
func NewEffort() Effort { return Effort{time.Now(), spent()} }

// Over reports whether more than limit of processor time has been spent by this process, or
// more than ten times as much has gone by, and says what.
func (e Effort) Over(limit time.Duration) (string, bool) {
	cpu, wall := spent()-e.spent, time.Since(e.since)
	return cpu.String() + " of processor time, " + wall.String() + " by the clock", cpu > limit || wall > 10*limit
}

// spent is the processor time of this process.
func spent() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime))
}
