package tracelog

import (
	"errors"
	"slices"
)

// A reader of a log that is being recorded reads the log again and again. Extend continues where
// the reader was before.

// Forget drops blocks whose events are all earlier than tick, for good.
func (r *Reader) Forget(tick uint64) {
	if w, ok := r.src.(*walkSource); ok {
		w.refs = slices.DeleteFunc(w.refs, func(d blockRef) bool { return d.max < tick })
	}
}

// Extend adds what the recorder has written since the log was opened or extended, and goes back to
// the first event. The log is now the first size bytes of its file. Extend returns false when the
// log is not a continuation of what it was; the caller must then open it anew.
func (r *Reader) Extend(size int64) (ok bool, err error) {
	w, ok := r.src.(*walkSource)
	if !ok || r.sealed || r.bad || !w.extends(size) {
		return false, nil
	}
	w.b.size = size
	switch h, err := w.b.header(w.walked.at); {
	case isIO(err):
		return false, err
	case err != nil || h.Seq != w.walked.seq:
		return false, nil // the log was cleared
	}
	r.fault = nil
	if r.super.LogFullPolicy == Loop {
		if ok, err := w.extendSlots(); !ok {
			return false, err
		}
	}
	end, err := w.walk()
	if isIO(err) {
		return false, err
	}
	if err := w.endCopies(); err != nil {
		return false, err
	}
	switch {
	case err == nil: // the log is finished
	case !errors.Is(err, errTorn):
		return false, nil
	default:
		if err := w.endTorn(end, err); err != nil {
			return false, err
		}
	}
	return true, r.Rewind()
}

// extends reports whether a log of size bytes may be a continuation.
func (w *walkSource) extends(size int64) bool {
	at := &w.walked
	if at.at == 0 || size < at.end {
		return false
	}
	return w.r.super.LogFullPolicy != Loop || at.slotSeq != 0
}

// extendSlots finds the slots that were written since.
func (w *walkSource) extendSlots() (ok bool, err error) {
	if err := w.b.readCopies(); err != nil {
		return false, err
	}
	w.r.takeAnchors(&w.b.copies)
	at := &w.walked
	slots := int(w.r.super.Slots)
	var buf []byte
	for n := range slots {
		i := (at.slot + min(n, 1)) % slots // the slot that was written last may have grown
		off := w.r.super.slotAt(i)
		if off > w.b.size-headerSize {
			return n > 0, nil
		}
		h, p, err := w.b.filled(i, buf)
		if isIO(err) {
			return false, err
		}
		if p != nil {
			buf = p
		}
		switch {
		case n == 0 && (err != nil || h.first() != at.slotFirst):
			return false, nil // the recorder has written over all of it
		case err != nil || h.Seq < at.slotSeq || n > 0 && h.first() <= at.slotSeq:
			return true, nil // the recorder is writing it, or it is an old one
		}
		w.replace(off, &h)
		at.slot, at.slotFirst, at.slotSeq = i, h.first(), h.Seq
	}
	return true, nil
}

// replace enters the block of a slot in place of the old one.
func (w *walkSource) replace(off int64, h *header) {
	w.refs = slices.DeleteFunc(w.refs, func(d blockRef) bool {
		if d.off == off {
			w.r.found -= uint64(d.count)
		}
		return d.off == off
	})
	w.found(off, h)
}
