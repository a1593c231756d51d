package tracelog

import (
	"errors"
	"math"
)

// walkSource reads the blocks of a file without a sound index. It finds them by going from one
// block to the next; those of a Loop log by going through its slots.
type walkSource struct {
	fileBlocks
	walked walked
}

// walked is how far the blocks of a log without a seal are known, so that Extend can go on there.
type walked struct {
	at  int64  // where the last block in sequence is, 0 if there was none
	seq uint64 // its number
	end int64  // and where the next would be

	// The slot of a Loop log from which on Extend looks for newer ones, and the numbers with
	// which that slot was started and is in force.
	slot               int
	slotFirst, slotSeq uint64
}

// openWalk finds the blocks of a log. In a log that is known to be damaged, by an unsound index
// before its seal, they must go on up to the seal.
func (r *Reader) openWalk(blocks fileBlocks) error {
	w := &walkSource{fileBlocks: blocks}
	r.src = w
	sealed := r.bad
	if r.super.LogFullPolicy == Loop {
		if err := w.findSlots(); err != nil {
			return err
		}
	}
	w.walked.end = r.super.tailAt()
	end, err := w.walk()
	if isIO(err) {
		return err
	}
	if err := w.endCopies(); err != nil {
		return err
	}
	switch {
	case err == nil: // walk found the seal
	case !sealed && errors.Is(err, errTorn):
		if err := w.endTorn(end, err); err != nil {
			return err
		}
	default:
		r.damage(end, "block", err)
	}
	return r.Rewind()
}

// walk goes on from where the last walk ended, and returns where and why this one did.
func (w *walkSource) walk() (end int64, err error) {
	loop := w.r.super.LogFullPolicy == Loop
	at := &w.walked
	var buf []byte
	return w.b.walk(at.end, at.seq, loop, func(off int64, h *header) error {
		switch h.Kind {
		case KindEvents:
			if !loop {
				w.found(off, h)
			}
		case KindGroup, KindIndex: // of no use here
		default:
			p, err := w.b.payload(off, h, buf)
			if err == nil {
				buf = p
				err = wholeSeal(h, p, off+h.size())
			}
			if err == nil {
				err = w.r.apply(h, p)
			}
			if err != nil {
				return err
			}
		}
		at.at, at.seq, at.end = off, h.Seq, off+h.size()
		return nil
	})
}

// found enters a block of events.
func (w *walkSource) found(off int64, h *header) {
	d := blockRef{off: off, seq: h.Seq, min: h.Min, max: h.Max, room: math.MaxInt64}
	if w.r.super.LogFullPolicy == Loop {
		d.first, d.len, d.count = h.first(), h.Len, h.Count
	}
	w.refs = append(w.refs, d)
	w.r.found += uint64(h.Count)
}

// endTorn records that the log ends without a seal. It verifies the last block at once, unlike the
// others: the recorder may have died writing that block.
func (w *walkSource) endTorn(end int64, err error) error {
	if n := len(w.refs) - 1; n >= w.next && w.r.super.LogFullPolicy != Loop {
		last := w.refs[n].off
		h, _, berr := w.b.block(last, nil)
		if isIO(berr) {
			return berr
		}
		if berr != nil && last+h.size() == end {
			w.r.found -= uint64(h.Count)
			w.refs = w.refs[:n]
			end, err = last, berr
			w.walked = walked{} // Extend does not look for a block in its place
		}
	}
	w.r.unfinished(end, err)
	return nil
}

// findSlots finds the sound slots of a Loop log.
func (w *walkSource) findSlots() error {
	var faults slotFaults
	// The recorder may go on meanwhile, over slots that this loop has passed. It writes slots in
	// their order: all newer ones lie behind the last of those that rise from the first one on.
	rising := 0
	err := w.b.slots(func(i int, off int64, h *header, _ []byte, err error) error {
		if err != nil {
			faults.unsound(i, off, err)
			return nil
		}
		w.found(off, h)
		faults.sound(i, h.Seq)
		if at := &w.walked; i == rising && h.Seq > at.slotSeq {
			rising++
			at.slot, at.slotFirst, at.slotSeq = i, h.first(), h.Seq
		}
		return nil
	})
	if err != nil {
		return err
	}
	faults.report(&w.r.contents)
	return nil
}

func (w *walkSource) fill(bool) (limit uint64, ok bool, err error) {
	err = w.r.openUntil(w)
	return w.begin(), true, err
}

func (w *walkSource) rewind() error {
	w.next = 0
	w.sort()
	return nil
}

func (w *walkSource) untouched() bool { return w.next == 0 }

func (w *walkSource) take(tick uint64) (*blockRef, error) { return w.first(tick), nil }
