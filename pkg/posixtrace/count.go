package posixtrace

import (
	"iter"
	"math"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// TypeCount counts the events of one type. Extension.
type TypeCount struct {
	ID          EventID
	Events      uint64
	Bytes       uint64 // of their data
	First, Last int64  // times of the first and the last, in nanoseconds since the Unix epoch
}

// Counts is the result of Reader.Count. The zero value is ready for use. Extension.
type Counts struct {
	// Events is the number of events counted so far.
	Events uint64
	// Latest is the time of the latest of them in nanoseconds since the Unix epoch.
	Latest int64

	log   tracelog.Counts
	clock *chunk.Clock // of log
	own   map[EventID]*TypeCount
	batch Batch
}

// Count counts some of the events that Next would report, and returns a bare io.EOF when it has
// counted all. It takes a few nanoseconds per event of a finished log, because it does not order
// the events. Until Rewind the caller uses c with this reader only, and the reader for Count only.
// Errors: EIO reading failed; EINVAL the reader is closed. Extension.
func (r *Reader) Count(c *Counts) error {
	if r.closed {
		return fail("Count", errReaderClosed, syscall.EINVAL)
	}
	if r.sel.Mappings {
		r.reportMaps(false)
		defer r.reportMaps(true)
	}
	if r.log != nil && !r.logDone && r.since == math.MinInt64 && r.until == math.MaxInt64 {
		more, err := r.log.Count(&c.log)
		if err != nil {
			return fail("Count", err, syscall.EIO)
		}
		c.clock = r.log.Clock()
		c.Events, c.Latest = c.log.Events, c.clock.Nanos(c.log.Max)
		if more {
			return nil
		}
		r.logDone = true
	}
	if err := r.NextBatch(&c.batch); err != nil {
		return err
	}
	if c.own == nil {
		c.own = map[EventID]*TypeCount{}
	}
	for i := range c.batch.Records {
		rec := &c.batch.Records[i]
		t := c.own[rec.ID]
		if t == nil {
			t = &TypeCount{ID: rec.ID, First: rec.UnixNano}
			c.own[rec.ID] = t
		}
		t.add(1, uint64(len(rec.Data)), rec.UnixNano, rec.UnixNano)
		c.Events++
		c.Latest = max(c.Latest, rec.UnixNano)
	}
	return nil
}

func (t *TypeCount) add(events, bytes uint64, first, last int64) {
	if t.Events == 0 {
		t.First, t.Last = first, last
	}
	t.Events += events
	t.Bytes += bytes
	t.First, t.Last = min(t.First, first), max(t.Last, last)
}

// Types iterates over the event types with at least one event, in the order of their ids.
func (c *Counts) Types() iter.Seq[TypeCount] {
	return func(yield func(TypeCount) bool) {
		for i := range c.log.Types {
			t := TypeCount{ID: EventID(i)}
			if n := &c.log.Types[i]; n.Events > 0 {
				t.add(n.Events, n.Bytes, c.clock.Nanos(n.Min), c.clock.Nanos(n.Max))
			}
			if o := c.own[t.ID]; o != nil {
				t.add(o.Events, o.Bytes, o.First, o.Last)
			}
			if t.Events > 0 && !yield(t) {
				return
			}
		}
	}
}
