package posixtrace

import (
	"io"
	"iter"
	"math"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// Batch is a batch of events for Reader.NextBatch. The zero value is ready for use. Extension.
type Batch struct {
	// Records are the events. They and their data are valid until NextBatch fills this batch again,
	// or one that it filled later.
	Records []Record

	hold tracelog.Hold
	data []byte
}

// batchSize is the most events in a batch. The encoded events, the records and the output made from
// them fit into the first caches of a processor.
const batchSize = 256

// NextBatch fills b with the next events, at least one. It reads the events of Next, in the same
// order, at a lower cost. At the end it returns a bare io.EOF. In a log that is read forward it
// does not wait for more events once it has one. Errors: EIO reading failed; EINVAL the reader is
// closed. Extension.
func (r *Reader) NextBatch(b *Batch) error {
	defer runtime.KeepAlive(r)
	b.Records = b.Records[:0]
	if r.closed {
		return fail("NextBatch", errReaderClosed, syscall.EINVAL)
	}
	hold := &b.hold
	for len(b.Records) == 0 {
		if r.log == nil || r.logDone || len(r.queue) > 0 {
			rec, err := r.Next()
			if err != nil {
				return err
			}
			b.data = append(b.data[:0], rec.Data...)
			b.Records = append(b.Records, Record{EventInfo: rec.EventInfo, Name: rec.Name, Data: b.data})
			return nil
		}
		if r.raw == nil {
			r.raw = make([]chunk.Record, batchSize)
		}
		n, err := r.log.NextBatch(r.raw, hold)
		if err != nil {
			return fail("NextBatch", err, syscall.EIO)
		}
		if n == 0 {
			r.logDone = true
			if r.mem == nil {
				return io.EOF
			}
			continue
		}
		if cap(b.Records) < n {
			b.Records = make([]Record, 0, batchSize)
		}
		b.Records = r.timed(b.Records[:n], r.raw[:n])
		if len(b.Records) == 0 {
			// None is selected. The events of the previous batch may still refer to the blocks that
			// have just come to their end.
			hold = new(tracelog.Hold)
		}
	}
	return nil
}

// timed fills recs from the events read, and returns those within the selection.
func (r *Reader) timed(recs []Record, raw []chunk.Record) []Record {
	clock := r.log.Clock()
	all := r.since == math.MinInt64 && r.until == math.MaxInt64
	if r.sel.Mappings {
		return r.timedWithMaps(recs[:0], raw)
	}
	n := 0
	for i := range raw {
		rec := &raw[i]
		ns, ok := clock.Near(rec.Tick)
		if !ok {
			ns = clock.Nanos(rec.Tick)
		}
		if !all && (ns < r.since || ns >= r.until) {
			continue
		}
		o := &recs[n]
		if int(rec.Event) < len(r.known) {
			o.Name = r.known[rec.Event]
		} else {
			o.Name = ""
		}
		if o.Name == "" {
			o.Name = r.name(EventID(rec.Event))
		}
		describe(&o.EventInfo, rec, ns)
		o.Data = rec.Data
		n++
	}
	return recs[:n]
}

// timedWithMaps appends the events read to recs, and the mappings noted before them.
func (r *Reader) timedWithMaps(recs []Record, raw []chunk.Record) []Record {
	clock := r.log.Clock()
	for i := range raw {
		if ns := clock.Nanos(raw[i].Tick); ns >= r.since && ns < r.until {
			recs = r.withMaps(recs, &raw[i], ns)
		}
	}
	return recs
}

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
