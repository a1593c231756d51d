package output

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Chrome is the trace-event form that timeline viewers read (chrome://tracing,
// Perfetto, speedscope). A span becomes a complete event, a slice with a duration, and so
// does what a process runs from its exec to its exit; everything else is a mark. Spans
// without a key are in the lane of their thread, those with a key in lanes that they share
// where they nest or follow each other. Viewers match no begins and ends, which they do by
// name and data, and slices nest in their lanes. Processes are in the order of their
// tree. Times count from the first event: as microseconds since 1970 they would not fit
// the numbers of those viewers.
type Chrome struct {
	base   int64
	last   int64 // when the last event was recorded
	latest int64 // when the latest that was written is drawn to begin
	begun  bool
	comma  bool
	tmp    []byte

	lanes     map[lane]*laneState
	processes map[int]*chromeProcess
	keyed     map[spanKey]*slice
	open      int // slices that are open, in all lanes

	// Events that are to be written, sorted by time as far as there is room.
	ready readyEvents
	bytes int
	seq   int
}

// What keeps memory within bounds: beyond these there are marks only.
const (
	maxLanes      = 1 << 16
	maxOpenSlices = 1 << 18
	maxReady      = 1 << 14
	maxReadyBytes = 4 << 20
)

func newChrome(*Settings) (Form, error) { return &Chrome{}, nil }

// Begin appends what opens the object.
func (c *Chrome) Begin(b []byte) []byte {
	return append(b, `{"displayTimeUnit":"ns","traceEvents":[`...)
}

// End appends what is still open, the names of processes and threads, and what
// closes the object.
func (c *Chrome) End(b []byte) []byte {
	lanes := make([]*laneState, 0, len(c.lanes))
	for _, l := range c.lanes {
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(x, y *laneState) int { return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid)) })
	for _, l := range lanes {
		for len(l.open) > 0 {
			c.unfinished(l)
		}
	}
	b = c.Flush(b)
	c.last = max(c.last, c.latest)
	order := c.tree()
	for i, l := range lanes {
		if i == 0 || lanes[i-1].pid != l.pid {
			b = c.appendName(b, "process_name", lane{l.pid, 0}, "name", c.processName(l.pid))
			b = c.appendName(b, "process_sort_index", lane{l.pid, 0}, "sort_index", order[l.pid])
		}
		name := "thread"
		switch {
		case l.pid == 0:
			name = "events"
		case l.tid == l.pid:
			name = "main"
		case l.tid == 0:
			name = "output" // which belongs to no thread
		case l.tid >= spanLane:
			name = "spans"
		}
		b = c.appendName(b, "thread_name", l.lane, "name", name)
	}
	return append(b, "\n]}\n"...)
}

// Append appends one event, or keeps it until others that are older have come.
func (c *Chrome) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if !c.begun {
		c.begun, c.base, c.latest = true, rec.UnixNano, rec.UnixNano
		c.lanes, c.processes, c.keyed = map[lane]*laneState{}, map[int]*chromeProcess{}, map[spanKey]*slice{}
	}
	c.last = rec.UnixNano
	if p := c.process(rec.PID); p == nil || !c.slice(src, rec, p) {
		scope := byte('t')
		if rec.PID == 0 {
			scope = 'g' // it is everybody's
		}
		c.mark(lane{rec.PID, rec.TID}, src.Name(rec.ID), Class(rec.ID), scope, rec.UnixNano, c.decoded(src, rec), "")
	}
	for len(c.ready) > maxReady || c.bytes > maxReadyBytes {
		b = c.next(b)
	}
	return b
}

// Flush appends the events that are kept.
func (c *Chrome) Flush(b []byte) []byte {
	for len(c.ready) > 0 {
		b = c.next(b)
	}
	return b
}
