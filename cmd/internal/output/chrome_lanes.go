package output

type lane struct{ pid, tid int }

type laneState struct {
	lane
	open  []*slice // the innermost last
	until int64    // the end of the last slice that was written
}

// What keeps time within bounds, whatever a log says: how deep slices nest in one lane, and how
// many lanes are looked at for one that is free.
const (
	maxDepth = 1 << 12
	maxTried = 64
)

// What begins or ends at one time in a lane is drawn so many nanoseconds apart. speedscope adds times and
// durations in floating point, and takes the end first where both are due: where one program
// executes another, and among the steps of a script with a coarse clock, it matched ends with
// others' begins. For a run of 12 days a nanosecond is more than these sums are off.
const (
	gap     = 1
	maxGaps = 1000 // how far a lane may be ahead and still be used
)

// spanLane is the first lane that is no thread: no thread has such an id.
const spanLane = 1 << 23

func (c *Chrome) push(l *laneState, s *slice) {
	s.at = max(s.at, l.until+gap)
	if n := len(l.open); n > 0 {
		s.at = max(s.at, l.open[n-1].at+gap)
	}
	s.in = l
	l.open = append(l.open, s)
	c.open++
}

// free returns a lane for spans in which nothing happens from a time on. One that is ahead of now is so
// because of gaps.
func (c *Chrome) free(p *chromeProcess, at int64) *laneState {
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

// lane returns the state of a lane, nil where there are too many.
func (c *Chrome) lane(l lane) *laneState {
	s := c.lanes[l]
	if s == nil && len(c.lanes) < maxLanes {
		s = &laneState{lane: l, until: c.base - gap}
		c.lanes[l] = s
	}
	return s
}

// move brings the slices of a lane from number i on into a lane of their own.
func (c *Chrome) move(l *laneState, i int, p *chromeProcess) {
	var to *laneState
	if p != nil {
		to = c.free(p, l.open[i].at)
	}
	if to == nil { // too many lanes: they are known to have begun
		for len(l.open) > i {
			c.unfinished(l)
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
