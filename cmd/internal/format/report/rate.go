package report

import "math"

// rate counts events over time, in a fixed number of steps whose length doubles as needed.
type rate struct {
	from   int64
	step   int64 // 0 before the first event
	counts [steps]uint64
	until  int64 // end of the last step that fits
}

const (
	steps     = 2048
	firstStep = 1000
)

func (r *rate) add(at int64) {
	if r.step == 0 {
		r.from, r.step = at, firstStep
		r.until = saturated(at, firstStep*steps)
	}
	if at >= r.until {
		r.widen(at)
	}
	i := uint64(at-r.from) / uint64(r.step)
	if at < r.from {
		i = 0 // the clock was set back
	}
	r.counts[min(i, steps-1)]++
}

// widen makes the steps longer until a time is in one of them.
func (r *rate) widen(at int64) {
	for at >= r.until && r.step < math.MaxInt64/(2*steps) {
		for i := range steps / 2 {
			r.counts[i] = r.counts[2*i] + r.counts[2*i+1]
		}
		clear(r.counts[steps/2:])
		r.step *= 2
		r.until = saturated(r.from, r.step*steps)
	}
}

// saturated returns a + b, b not below 0, or the latest time.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// used returns how many steps there are up to a time.
func (r *rate) used(last int64) int {
	if r.step == 0 || last < r.from {
		return 0
	}
	return int(min(uint64(last-r.from)/uint64(r.step), steps-1)) + 1
}
