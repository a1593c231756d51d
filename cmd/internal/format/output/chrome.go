package output

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Chrome is the trace-event form that timeline viewers read (chrome://tracing, Perfetto,
// speedscope).
//
// A span becomes a complete event: a slice with a duration. So does each program that a
// process runs, from its exec to the next or to the exit. Every other event is a mark. Chrome
// pairs begins and ends itself, since viewers would pair them by name and data. Slices nest
// within their lane: a span without a key is in the lane of its thread, and spans with keys
// share lanes where they nest or follow each other.
//
// Processes are in the order of their tree. Times count from the first event: microseconds
// since 1970 exceed the precision of the viewers' numbers.
//
// chrome_slices.go turns events into slices and marks, chrome_lanes.go places slices in
// lanes, chrome_processes.go keeps the process tree, and chrome_counters.go turns samples into counters,
// chrome_write.go encodes and sorts.
type Chrome struct {
	base    int64
	last    int64 // time of the last event
	latest  int64 // latest start of an event that was written
	started bool
	comma   bool
	tmp     []byte
	text    []byte  // for the event that is being encoded
	phrases phrases // the text of marks, except their time and data

	lanes     map[lane]*laneState
	processes map[int]*chromeProcess
	keyed     map[spanKey]*slice
	open      int            // number of open slices in all lanes
	used      *laneState     // the lane that was used last
	running   *chromeProcess // the process that was used last

	sampled sampled // the sample before

	pending pendingEvents // sorted by time as far as there is room
}

// The limits on memory. Beyond them every event becomes a mark.
const (
	maxLanes        = 1 << 16
	maxOpenSlices   = 1 << 18
	maxPending      = 1 << 14
	maxPendingBytes = 4 << 20
)

func newChrome(*Settings) (Form, error) { return &Chrome{}, nil }

// Begin appends the start of the object.
func (c *Chrome) Begin(b []byte) []byte {
	return append(b, `{"displayTimeUnit":"ns","traceEvents":[`...)
}

// End appends the open slices, the names of processes and threads, and the end of the
// object.
func (c *Chrome) End(b []byte) []byte {
	lanes := make([]*laneState, 0, len(c.lanes))
	for _, l := range c.lanes {
		lanes = append(lanes, l)
	}
	slices.SortFunc(lanes, func(x, y *laneState) int { return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid)) })
	for _, l := range lanes {
		for len(l.open) > 0 {
			c.closeUnfinished(l)
		}
	}
	b = c.Flush(b)
	c.last = max(c.last, c.latest)
	order := c.processOrder()
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
			name = "output" // has no thread
		case l.tid >= spanLane:
			name = "spans"
		}
		b = c.appendName(b, "thread_name", l.lane, "name", name)
	}
	return append(b, "\n]}\n"...)
}

// Append appends one event, or keeps it back until older ones have come.
func (c *Chrome) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if !c.started {
		c.started, c.base, c.latest = true, rec.UnixNano, rec.UnixNano
		c.lanes, c.processes, c.keyed = map[lane]*laneState{}, map[int]*chromeProcess{}, map[spanKey]*slice{}
	}
	c.last = rec.UnixNano
	if rec.ID == posixtrace.EventResSample && c.counters(src, rec) {
		return c.room(b)
	}
	if p := c.process(rec.PID); p == nil || !c.handleSlice(src, rec, p) {
		c.markEvent(src, rec)
	}
	return c.room(b)
}

// room appends the oldest events of those that are kept back, if they are too many.
func (c *Chrome) room(b []byte) []byte {
	for c.pending.count() > maxPending || c.pending.bytes > maxPendingBytes {
		b = c.emitFirst(b)
	}
	return b
}

// Flush appends the events that are kept back.
func (c *Chrome) Flush(b []byte) []byte {
	for c.pending.count() > 0 {
		b = c.emitFirst(b)
	}
	return b
}
