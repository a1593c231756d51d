package tracelog

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// selection is the events that a Reader reports.
type selection struct {
	min, max uint64     // ticks
	types    *event.Set // nil: all
	coarse   Coarse     // of types
	narrow   bool       // some events may be left out
}

// Select narrows the reader to events of the given types, nil for all, with
// minTick <= tick <= maxTick, and goes back to the first of them. Blocks without such events are
// skipped unread. On a log that is read forward Select must come before Next.
func (r *Reader) Select(minTick, maxTick uint64, types *event.Set) error {
	r.sel = selection{min: minTick, max: maxTick, narrow: types != nil || minTick > 0 || maxTick < ^uint64(0)}
	if types != nil {
		set := *types
		r.sel.types, r.sel.coarse = &set, CoarseSet(&set)
	}
	if _, ok := r.src.(fileSource); !ok {
		return nil
	}
	return r.Rewind()
}

// overlaps reports whether a block or a part of the index with these times may hold a selected
// event.
func (s *selection) overlaps(min, max uint64) bool { return max >= s.min && min <= s.max }

// wants reports whether a block may have selected events, by time and by type.
func (s *selection) wants(min, max uint64, types *Coarse) bool {
	return s.overlaps(min, max) && (s.types == nil || types.overlaps(&s.coarse))
}

// filter moves the selected events to the front and returns how many there are.
func (s *selection) filter(recs []chunk.Record) (n int) {
	for i := range recs {
		rec := &recs[i]
		if rec.Tick < s.min || rec.Tick > s.max || !s.has(rec.Event) && (rec.Maps == nil || !s.has(event.ProcMap)) {
			continue
		}
		if n != i {
			recs[n] = recs[i]
		}
		n++
	}
	return n
}

// has reports whether the type id is selected.
func (s *selection) has(id event.ID) bool { return s.types == nil || s.types.Has(id) }
