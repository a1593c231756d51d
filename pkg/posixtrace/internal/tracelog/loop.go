package tracelog

import (
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// writeSlot writes events into the next slot of a Loop log, over the oldest.
func (w *Writer) writeSlot(h *header, payload []byte, types *Coarse) error {
	at := w.super.size + int64(w.nextSlot)*w.super.slotSize()
	for len(w.slots) <= w.nextSlot {
		w.slots = append(w.slots, entry{})
	}
	s := &w.slots[w.nextSlot]
	old := *s
	// Whether or not the write succeeds, what was in the slot is gone.
	if old.Seq != 0 {
		*s = entry{}
		w.full = true
		w.replaced += uint64(old.Count)
		if old.marks {
			w.marksGone += uint64(old.Count)
		}
		w.totals.Blocks--
		w.totals.Events -= uint64(old.Count)
		w.totals.Bytes -= old.bytes
	}
	if err := w.write(at, h, payload); err != nil {
		return err
	}
	*s = h.entry(at, types)
	s.bytes = uint64(h.Len)
	w.nextSlot = (w.nextSlot + 1) % int(w.super.Slots)
	return nil
}

// writeLoopKnots writes all knots of a Loop log that matter into one of its two
// slots for them, by turns: if one write is torn, the other slot still holds
// what was there before. So such a log does not grow however long it runs.
func (w *Writer) writeLoopKnots() error {
	if w.knotsDone == len(w.knots) && w.knotsDone > 0 || len(w.knots) == 0 {
		return nil
	}
	w.thinKnots()
	at := w.super.knotsAt() + w.knotSide*knotSlotSize
	if err := w.write(at, knotsHeader(w.knots), appendKnots(nil, w.knots)); err != nil {
		w.knotsDone = 0
		return err
	}
	w.knotSide ^= 1
	w.knotsDone = len(w.knots)
	return nil
}

// thinKnots brings the knots down to what a slot holds: first those go that lie
// before the oldest event, then every second one of the rest but the newest.
func (w *Writer) thinKnots() {
	if len(w.knots) <= slotKnots {
		return
	}
	oldest := ^uint64(0)
	for i := range w.slots {
		if s := &w.slots[i]; s.Seq != 0 {
			oldest = min(oldest, s.Min)
		}
	}
	n := 0
	for n < len(w.knots)-2 && w.knots[n+1].Tick <= oldest {
		n++
	}
	w.knots = slices.Delete(w.knots, 0, n)
	for len(w.knots) > slotKnots {
		last := len(w.knots) - 2
		kept := []chunk.Knot{}
		for i, k := range w.knots {
			if i%2 == 0 || i >= last {
				kept = append(kept, k)
			}
		}
		w.knots = kept
	}
}

// indexSlots enters the slots of a Loop log in its index.
func (w *Writer) indexSlots() {
	for i := range w.slots {
		if w.slots[i].Seq != 0 {
			w.index = append(w.index, w.slots[i])
		}
	}
}
