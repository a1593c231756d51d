package posixtrace

import (
	"io"
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
