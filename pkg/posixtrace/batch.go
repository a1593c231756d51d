package posixtrace

import (
	"io"
	"math"
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracelog"
)

// Batch is a number of events that a Reader has read at once. The zero value is ready
// for use. Extension.
type Batch struct {
	// Records are the events. They and their data are valid until NextBatch fills this batch,
	// or one that was filled after it, again.
	Records []Record

	hold tracelog.Hold
	data []byte
}

// batchSize is how many events there may be in a batch. What they are decoded from, they and
// what they are made should fit into the processor's nearest memories.
const batchSize = 256

// NextBatch fills b with the next events, one or more, and returns io.EOF at the end of
// what is sound. It reads what Next does, in the same order, and costs less. Of a log that is
// read forward it does not wait for more once it has an event.
// Errors: EIO reading failed. Extension.
func (r *Reader) NextBatch(b *Batch) error {
	defer runtime.KeepAlive(r)
	b.Records = b.Records[:0]
	if r.closed {
		return fail("NextBatch", errReaderClosed, syscall.EINVAL)
	}
	hold := &b.hold
	for len(b.Records) == 0 {
		if r.log == nil || r.logDone {
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
			// None is selected. What has just come to its end may still be in the batch that
			// was read before this one.
			hold = new(tracelog.Hold)
		}
	}
	return nil
}

// timed makes records of what was read from the log, and returns those that the selection
// has room for.
func (r *Reader) timed(recs []Record, raw []chunk.Record) []Record {
	clock := r.log.Clock()
	all := r.since == math.MinInt64 && r.until == math.MaxInt64
	n := 0
	for i := range raw {
		ns := clock.Nanos(raw[i].Tick)
		if !all && (ns < r.since || ns >= r.until) {
			continue
		}
		r.set(&recs[n], &raw[i], ns)
		n++
	}
	return recs[:n]
}
