package output

// lane is one line of a viewer: a thread, or a line for spans.
type lane struct{ pid, tid int }

type laneState struct {
	lane
	open  []*slice // the innermost last
	until int64    // the end of the last slice that was written
}

// The limits on processing time for hostile logs: how deep slices nest in one lane, and how
// many lanes freeLane tries.
const (
	maxDepth = 1 << 12
	maxTried = 64
)

// Starts and ends at one time in a lane are drawn gap nanoseconds apart. speedscope adds
// times and durations in floating point, and handles an end before a start at the same time.
// Without gaps it paired ends with the starts of other slices where one program executes
// another, and among the steps of a script with a coarse clock. For a run of up to 12 days
// the error of the sums is below a nanosecond.
const (
	gap     = 1
	maxGaps = 1000 // gaps by which a lane may be ahead and still be reused
)

// spanLane is the id of the first lane for spans. No thread has such an id.
const spanLane = 1 << 23

// push opens a slice in a lane, behind the last one and inside the innermost open one.
func (c *Chrome) push(l *laneState, s *slice) {
	s.at = max(s.at, l.until+gap)
	if n := len(l.open); n > 0 {
		s.at = max(s.at, l.open[n-1].at+gap)
	}
	s.in = l
	l.open = append(l.open, s)
	c.open++
}

// freeLane returns a lane for spans that is empty from a time on. At the current time it
// also accepts a lane that gaps have moved ahead.
func (c *Chrome) freeLane(p *chromeProcess, at int64) *laneState {
	until := at
	if at >= c.last {
		until += maxGaps * gap
	}
	for _, l := range p.spans[:min(len(p.spans), maxTried)] {
		if len(l.open) == 0 && l.until <= until {
			return l
		}
	}
	l := c.lane(lane{p.pid, spanLane + len(p.spans)})
	if l != nil {
		p.spans = append(p.spans, l)
	}
	return l
}

// lane returns the state of a lane, nil if there are too many.
func (c *Chrome) lane(l lane) *laneState {
	if c.used != nil && c.used.lane == l {
		return c.used
	}
	s := c.lanes[l]
	if s == nil && len(c.lanes) < maxLanes {
		s = &laneState{lane: l, until: c.base - gap}
		c.lanes[l] = s
	}
	c.used = s
	return s
}

// moveInner moves the open slices of a lane, from index i on, to a free lane.
func (c *Chrome) moveInner(l *laneState, i int, p *chromeProcess) {
	var to *laneState
	if p != nil {
		to = c.freeLane(p, l.open[i].at)
	}
	if to == nil { // too many lanes: only the starts of the slices are known
		for len(l.open) > i {
			c.closeUnfinished(l)
		}
		return
	}
	moved := l.open[i:]
	l.open = l.open[:i]
	c.open -= len(moved)
	for _, s := range moved {
		c.push(to, s)
	}
}
