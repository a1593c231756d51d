package tracelog

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Types writes the types that are not yet in the log. A type must be in the log before its first
// event.
func (w *Writer) Types(defs []TypeDef) error {
	if w.sealing {
		return errSealed
	}
	for _, d := range defs {
		if !d.ID.Valid() || len(d.Name) > event.NameMax {
			return fmt.Errorf("log: type %d %q: %w", d.ID, d.Name, syscall.EINVAL)
		}
		if !w.known.Has(d.ID) {
			w.known.Add(d.ID)
			w.types = append(w.types, d)
		}
	}
	return w.writeTypes()
}

func (w *Writer) writeTypes() error {
	for w.typesDone < len(w.types) {
		var b []byte
		n := w.typesDone
		for ; n < len(w.types) && len(b) < 32<<10; n++ {
			b = appendType(b, w.types[n])
		}
		h := header{Kind: KindTypes, Count: uint32(n - w.typesDone)}
		if err := w.append(&h, b, nil); err != nil {
			return err
		}
		w.typesDone = n
	}
	return w.writeHead()
}

// Anchors writes the clock anchors later than the last one in the log.
func (w *Writer) Anchors(anchors []chunk.ClockAnchor) error {
	if w.sealing {
		return errSealed
	}
	for _, k := range anchors {
		if n := len(w.anchors); n == 0 || k.Tick > w.anchors[n-1].Tick && k.Nanos >= w.anchors[n-1].Nanos {
			w.anchors = append(w.anchors, k)
		}
	}
	return w.writeAnchors()
}

func (w *Writer) writeAnchors() error {
	if w.super.LogFullPolicy == Loop {
		return w.writeLoopAnchors()
	}
	for w.anchorsDone < len(w.anchors) {
		n := min(len(w.anchors), w.anchorsDone+4096)
		if err := w.append(anchorsHeader(w.anchors[w.anchorsDone:n]), appendAnchors(nil, w.anchors[w.anchorsDone:n]), nil); err != nil {
			return err
		}
		w.anchorsDone = n
	}
	// The last two determine the line beyond them; Clear writes them again.
	if n := len(w.anchors); n > 2 {
		w.anchors = append(w.anchors[:0], w.anchors[n-2:]...)
		w.anchorsDone = 2
	}
	return nil
}

func anchorsHeader(anchors []chunk.ClockAnchor) *header {
	n := len(anchors)
	return &header{Kind: KindAnchors, Min: anchors[0].Tick, Max: anchors[n-1].Tick, Count: uint32(n)}
}

// GroupEnd states that the log has every event up to watermark that it will ever have. A reader
// that cannot seek reports events only up to there.
func (w *Writer) GroupEnd(watermark uint64) error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogFullPolicy == Loop || w.grouped && watermark <= w.watermark {
		return nil
	}
	h := header{Kind: KindGroup, Min: watermark, Max: watermark}
	if err := w.append(&h, binary.LittleEndian.AppendUint64(nil, watermark), nil); err != nil {
		return err
	}
	w.watermark = watermark
	return nil
}

// Status writes the present status, for readers of a log that is never finished. A Loop log has
// only the status at its end.
func (w *Writer) Status(s Status) error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogFullPolicy == Loop {
		return nil
	}
	return w.append(&header{Kind: KindStatus}, appendStatus(nil, &s), nil)
}
