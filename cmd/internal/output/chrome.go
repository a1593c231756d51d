package output

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Chrome is the trace-event form that timeline viewers read (chrome://tracing,
// Perfetto, speedscope). NAME.begin and NAME.end become the two ends of a slice
// in the lane of their thread, and so do the exec and the exit of a process;
// everything else is a mark. Times count from the first event: as microseconds
// since 1970 they would not fit the numbers of those viewers.
type Chrome struct {
	base  int64
	last  int64
	begun bool
	comma bool
	tmp   []byte

	lanes     map[lane]*laneState
	processes map[int]string // names, as far as they are known
	open      int            // slices that are open, in all lanes
}

type lane struct{ pid, tid int }

type laneState struct {
	open []string // slices, the innermost last
}

// What keeps memory within bounds: beyond these there are marks only.
const (
	maxLanes      = 1 << 16
	maxOpenSlices = 1 << 18
)

// What keeps time and output within bounds, whatever a log says: how deep slices nest in
// one lane, and how many of them are begun anew behind the end of one around them.
const (
	maxDepth = 1 << 12
	maxAnew  = 16
)

// Begin appends what opens the object.
func (c *Chrome) Begin(b []byte) []byte {
	return append(b, `{"displayTimeUnit":"ns","traceEvents":[`...)
}

// End appends the ends of slices that are still open, the names of processes and
// threads, and what closes the object.
func (c *Chrome) End(b []byte) []byte {
	lanes := make([]lane, 0, len(c.lanes))
	for l := range c.lanes {
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(x, y lane) int { return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid)) })
	for i, l := range lanes {
		b = c.closeAll(b, l)
		if i == 0 || lanes[i-1].pid != l.pid {
			b = c.appendName(b, "process_name", lane{l.pid, 0}, c.processName(l.pid))
		}
		name := "thread"
		switch {
		case l.pid == 0:
			name = "events"
		case l.tid == l.pid:
			name = "main"
		case l.tid == 0:
			name = "output" // which belongs to no thread
		}
		b = c.appendName(b, "thread_name", l, name)
	}
	return append(b, "\n]}\n"...)
}

func (c *Chrome) processName(pid int) string {
	name := c.processes[pid]
	switch {
	case name != "":
		return name
	case pid == 0:
		return "stream"
	}
	return "process"
}

// Append appends one event.
func (c *Chrome) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if !c.begun {
		c.begun, c.base = true, rec.UnixNano
		c.lanes, c.processes = map[lane]*laneState{}, map[int]string{}
	}
	c.last = rec.UnixNano
	name, l := src.Name(rec.ID), lane{rec.PID, rec.TID}
	switch {
	case rec.ID == posixtrace.EventProcExec:
		return c.exec(b, src, rec)
	case rec.ID == posixtrace.EventProcExit:
		l.tid = l.pid
		if s := c.lanes[l]; s != nil && len(s.open) > 0 {
			for len(s.open) > 1 {
				b = c.end(b, l, nil, nil)
			}
			return c.end(b, l, src, rec)
		}
	case rec.ID == posixtrace.EventStart || rec.ID == posixtrace.EventStop:
		if l.pid != 0 && c.processes[l.pid] == "" && len(c.processes) < maxLanes {
			c.processes[l.pid] = "controller"
		}
	case rec.ID.User():
		if n, ok := strings.CutSuffix(name, ".begin"); ok {
			if s := c.lane(l); s != nil && c.open < maxOpenSlices && len(s.open) < maxDepth {
				return c.begin(b, l, n, src, rec)
			}
		} else if n, ok := strings.CutSuffix(name, ".end"); ok {
			if s := c.lanes[l]; s != nil && slices.Contains(s.open, n) {
				return c.endNamed(b, l, n, src, rec)
			}
		}
	}
	c.lane(l)
	scope := byte('t')
	if rec.PID == 0 {
		scope = 'g' // it is everybody's
	}
	b = c.head(b, name, Class(rec.ID), 'i', l)
	b = append(append(b, `,"s":"`...), scope, '"')
	return c.tail(b, src, rec)
}

// lane returns the state of a lane, nil where there are too many.
func (c *Chrome) lane(l lane) *laneState {
	s := c.lanes[l]
	if s == nil && len(c.lanes) < maxLanes {
		s = &laneState{}
		c.lanes[l] = s
	}
	return s
}

// exec ends what the process ran until now and begins a slice for what it runs
// from now on.
func (c *Chrome) exec(b []byte, src *Source, rec *posixtrace.Record) []byte {
	l := lane{rec.PID, rec.PID}
	name := "proc.exec"
	if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
		name = path.Base(d.Path)
	}
	if c.lane(l) == nil || c.open >= maxOpenSlices {
		b = c.head(b, name, "system", 'i', l)
		return c.tail(append(b, `,"s":"p"`...), src, rec)
	}
	c.processes[rec.PID] = name
	b = c.closeAll(b, l)
	return c.begin(b, l, name, src, rec)
}

func (c *Chrome) begin(b []byte, l lane, name string, src *Source, rec *posixtrace.Record) []byte {
	s := c.lanes[l]
	s.open = append(s.open, name)
	c.open++
	return c.tail(c.head(b, name, c.category(rec), 'B', l), src, rec)
}

// end ends the innermost slice of a lane. rec is what ended it, nil for nothing
// of its own.
func (c *Chrome) end(b []byte, l lane, src *Source, rec *posixtrace.Record) []byte {
	s := c.lanes[l]
	name := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	c.open--
	return c.tail(c.head(b, name, c.category(rec), 'E', l), src, rec)
}

// endNamed ends a slice. Slices must nest: those within it that go on longer are
// ended with it and begun anew, unless they are too many to be meant.
func (c *Chrome) endNamed(b []byte, l lane, name string, src *Source, rec *posixtrace.Record) []byte {
	s := c.lanes[l]
	var within []string
	for s.open[len(s.open)-1] != name {
		within = append(within, s.open[len(s.open)-1])
		b = c.end(b, l, nil, nil)
	}
	b = c.end(b, l, src, rec)
	if len(within) > maxAnew {
		return b
	}
	for _, n := range slices.Backward(within) {
		s.open = append(s.open, n)
		c.open++
		b = c.tail(c.head(b, n, "user", 'B', l), nil, nil)
	}
	return b
}

func (c *Chrome) closeAll(b []byte, l lane) []byte {
	for s := c.lanes[l]; len(s.open) > 0; {
		b = c.end(b, l, nil, nil)
	}
	return b
}

func (c *Chrome) category(rec *posixtrace.Record) string {
	if rec == nil {
		return "user"
	}
	return Class(rec.ID)
}

// head appends the members that all events have. The time is that of the
// latest event.
func (c *Chrome) head(b []byte, name, category string, phase byte, l lane) []byte {
	if c.comma {
		b = append(b, ',')
	}
	c.comma = true
	b = AppendJSONString(append(b, "\n{\"name\":"...), name)
	b = append(append(b, `,"cat":"`...), category...)
	b = append(append(b, `","ph":"`...), phase)
	b = appendMicros(append(b, `","ts":`...), c.last-c.base)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.pid), 10)
	return strconv.AppendInt(append(b, `,"tid":`...), int64(l.tid), 10)
}

// tail appends the data of an event, if it has any, and closes its object.
func (c *Chrome) tail(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if rec != nil {
		if c.tmp = appendDecoded(c.tmp[:0], src, rec); len(c.tmp) > 0 {
			b = AppendJSONString(append(b, `,"args":{"data":`...), c.tmp)
			b = append(b, '}')
		}
	}
	return append(b, '}')
}

// appendName appends the name of a process or thread.
func (c *Chrome) appendName(b []byte, what string, l lane, name string) []byte {
	b = c.head(b, what, "__metadata", 'M', l)
	b = AppendJSONString(append(b, `,"args":{"name":`...), name)
	return append(b, '}', '}')
}

// appendMicros appends nanoseconds as microseconds with three decimals.
func appendMicros(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	r := u % 1000
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
