package posixtrace

import (
	"math"
	"runtime"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Selection restricts the events that a Reader reports. Zero fields select all events. Extension.
type Selection struct {
	Since, Until time.Time // events at or after Since and before Until
	Types        *EventSet // events of these types
	// Mappings adds to the events, as EventProcMap, what traced processes have noted of their mappings
	// beside their own events, to name the addresses. These are no events: only Next, NextBatch and All
	// report them, and no count includes them.
	Mappings bool
}

// Select restricts the reader to a selection. The caller calls it before Next. Extension.
func (r *Reader) Select(sel Selection) {
	defer runtime.KeepAlive(r)
	r.sel, r.queue = sel, nil
	r.since, r.until = math.MinInt64, math.MaxInt64
	if !sel.Since.IsZero() {
		r.since = sel.Since.UnixNano()
	}
	if !sel.Until.IsZero() {
		r.until = sel.Until.UnixNano()
	}
	if r.mem != nil && sel.Mappings {
		r.mem.ReportMaps()
	}
	if r.log == nil {
		return
	}
	r.log.Maps = sel.Mappings
	var types *event.Set
	if sel.Types != nil {
		types = &sel.Types.s
	}
	lo, hi := uint64(0), uint64(math.MaxUint64)
	// The clock of a log that is read forward still changes.
	if r.file != nil && len(r.log.Clock().Anchors()) > 0 {
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

// reportMaps sets Selection.Mappings for what is read from here on.
func (r *Reader) reportMaps(on bool) {
	if r.sel.Mappings = on; r.log != nil {
		r.log.Maps = on
	}
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
