package tracelog

import (
	"errors"
	"slices"
)

// A log that is being recorded is looked at again and again. What was walked through once
// need not be walked through again: each look goes on where the one before has ended.

// walked is how far the blocks of a log without a seal are known.
type walked struct {
	at  int64  // where the last block in sequence is, 0 if there was none
	seq uint64 // its number
	end int64  // and where the next would be

	// The slot of a Loop log from which on newer ones are looked for, and with which numbers it
	// was begun and is in force.
	slot               int
	slotFirst, slotSeq uint64
}

// Forget leaves out blocks whose events are all earlier than tick, for good.
func (r *Reader) Forget(tick uint64) {
	if r.s == nil && r.seal == nil {
		r.blocks = slices.DeleteFunc(r.blocks, func(d desc) bool { return d.max < tick })
	}
}

// Extend takes in what has come to the log since it was opened or extended, of whose file the
// first size bytes count now, and goes back to the first event. It returns false when the log is
// not what it was; it must then be opened anew.
func (r *Reader) Extend(size int64) (ok bool, err error) {
	w := &r.walked
	loop := r.super.LogPolicy == Loop
	if r.s != nil || r.sealed || r.bad || w.at == 0 || loop && (!r.super.joins() || w.slotSeq == 0) || size < w.end {
		return false, nil
	}
	r.b.size = size
	switch h, err := r.b.header(w.at); {
	case isIO(err):
		return false, err
	case err != nil || h.Seq != w.seq:
		return false, nil // it was cleared
	}
	r.fault = nil
	if loop {
		if ok, err := r.extendSlots(); !ok {
			return false, err
		}
	}
	end, err := r.walk()
	if isIO(err) {
		return false, err
	}
	if err := r.endCopies(); err != nil {
		return false, err
	}
	switch {
	case err == nil: // it is finished
	case !errors.Is(err, errTorn):
		return false, nil
	default:
		if err := r.endTorn(end, err); err != nil {
			return false, err
		}
	}
	return true, r.Rewind()
}

// extendSlots is walkSlots for those that have been written since.
func (r *Reader) extendSlots() (ok bool, err error) {
	if err := r.b.readCopies(); err != nil {
		return false, err
	}
	r.takeAnchors(&r.b.copies)
	w := &r.walked
	slots := int(r.super.Slots)
	var buf []byte
	for n := range slots {
		i := (w.slot + min(n, 1)) % slots // the one that was written last may have grown
		off := r.super.slotAt(i)
		if off > r.b.size-headerSize {
			return n > 0, nil
		}
		h, p, err := r.b.loopBlock(i, buf)
		if isIO(err) {
			return false, err
		}
		if p != nil {
			buf = p
		}
		switch {
		case n == 0 && (err != nil || h.first() != w.slotFirst):
			return false, nil // all of it was written over
		case err != nil || h.Seq < w.slotSeq || n > 0 && h.first() <= w.slotSeq:
			return true, nil // it is being written, or an old one
		}
		r.blocks = slices.DeleteFunc(r.blocks, func(d desc) bool {
			if d.off == off {
				r.found -= uint64(d.count)
			}
			return d.off == off
		})
		r.foundBlock(off, &h)
		w.slot, w.slotFirst, w.slotSeq = i, h.first(), h.Seq
	}
	return true, nil
}
