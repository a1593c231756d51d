package posixtrace

import (
	"math"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Selection restricts the events that a Reader reports. Zero fields select all events. Extension.
type Selection struct {
	Since, Until time.Time // events at or after Since and before Until
	Types        *EventSet // events of these types
}

// Select restricts the reader to a selection. The caller calls it before Next. Extension.
func (r *Reader) Select(sel Selection) {
	r.sel = sel
	r.since, r.until = math.MinInt64, math.MaxInt64
	if !sel.Since.IsZero() {
		r.since = sel.Since.UnixNano()
	}
	if !sel.Until.IsZero() {
		r.until = sel.Until.UnixNano()
	}
	if r.log == nil {
		return
	}
	var types *event.Set
	if sel.Types != nil {
		types = &sel.Types.s
	}
	lo, hi := uint64(0), uint64(math.MaxUint64)
	if len(r.log.Clock().Anchors()) > 0 {
		c := r.log.Clock()
		if r.since != math.MinInt64 {
			lo = firstTick(c, r.since)
		}
		if r.until != math.MaxInt64 {
			hi = firstTick(c, r.until)
		}
	}
	r.log.Select(lo, hi, types)
}

// firstTick returns the first tick whose time is nanos or later.
func firstTick(c *chunk.Clock, nanos int64) uint64 {
	lo, hi := uint64(0), uint64(1)<<62
	for lo < hi {
		mid := lo + (hi-lo)/2
		if c.Nanos(mid) < nanos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
