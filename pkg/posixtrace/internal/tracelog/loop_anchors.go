package tracelog

import (
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// writeLoopAnchors writes all clock anchors of a Loop log that matter into its two areas for them,
// one after the other: if one write is torn, the other area still holds the previous ones, or the
// new ones already. So the log does not grow, however long it runs.
func (w *Writer) writeLoopAnchors() error {
	if w.anchorsDone == len(w.anchors) && w.anchorsDone > 0 || len(w.anchors) == 0 {
		return nil
	}
	w.thinAnchors()
	if w.anchorSynced == 1+w.anchorSide {
		w.anchorSide ^= 1
	}
	for range 2 {
		if w.anchorSynced == 1+w.anchorSide {
			w.Sync()
		}
		if err := w.write(w.super.anchorAreaAt(w.anchorSide), anchorsHeader(w.anchors), appendAnchors(nil, w.anchors)); err != nil {
			w.anchorsDone = 0
			return err
		}
		w.anchorSide ^= 1
	}
	w.anchorsDone = len(w.anchors)
	return nil
}

// thinAnchors drops clock anchors until the rest fit into an area: first those before the oldest
// event, then every second one but the newest.
func (w *Writer) thinAnchors() {
	if len(w.anchors) <= areaAnchors {
		return
	}
	oldest := ^uint64(0)
	for i := range w.slots {
		if s := &w.slots[i]; s.Seq != 0 {
			oldest = min(oldest, s.Min)
		}
	}
	n := 0
	for n < len(w.anchors)-2 && w.anchors[n+1].Tick <= oldest {
		n++
	}
	w.anchors = slices.Delete(w.anchors, 0, n)
	for len(w.anchors) > areaAnchors {
		last := len(w.anchors) - 2
		kept := []chunk.ClockAnchor{}
		for i, k := range w.anchors {
			if i%2 == 0 || i >= last {
				kept = append(kept, k)
			}
		}
		w.anchors = kept
	}
}
