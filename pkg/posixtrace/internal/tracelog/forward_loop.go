package tracelog

import (
	"errors"
	"fmt"
)

// loopArea reads the head and the slots of a Loop log and the clock anchors behind them. No event
// can be reported before the last slot.
func (f *forwardSource) loopArea() error {
	r := f.r
	if err := f.head(); err != nil {
		return err
	}
	var faults slotFaults
	q := &slotQueue{f: f, r: r}
	for i := range int(r.super.Slots) {
		at := f.off
		h, err := q.slot(at)
		switch {
		case err == nil:
			faults.sound(i, h.Seq)
		case isIO(err):
			return err
		case errors.Is(err, errCut):
			q.close(i+1 < int(r.super.Slots))
			return err
		case !errors.Is(err, errNoBlock):
			faults.unsound(i, at, err)
		}
		if r.merge.held > f.hold {
			return fmt.Errorf("log: more than %d bytes of events cannot be put in order without seeking", f.hold)
		}
		if err := f.skip(at + r.super.slotSize() - f.off); err != nil {
			if errors.Is(err, errCut) {
				q.close(i+1 < int(r.super.Slots))
			}
			return err
		}
	}
	q.close(false)
	faults.report(&r.contents)
	return f.anchors(1)
}

// slotQueue reads the slots of a Loop log in sequence. Whether a chunk that is split between two
// slots counts depends on the next slot, for the last slot on the first, so each slot waits for the
// next.
type slotQueue struct {
	f     *forwardSource
	r     *Reader
	seen  slotsSeen
	first uint64 // sequence number with which the first slot was started
	any   bool   // a slot was read
	held  bool   // a slot waits:
	at    int64
	raw   [2 * headerSize]byte
	hs    [2]header
	errs  [2]error
	s     *openBlock
	h     *header
}

// slot reads the next slot.
func (q *slotQueue) slot(at int64) (h header, err error) {
	var raw [2 * headerSize]byte
	if err := q.f.read(raw[:]); err != nil {
		return h, err
	}
	hs, errs, n := q.r.super.heads(&raw)
	s := q.r.merge.newBlock()
	s.buf = grow(s.buf, n)
	end := q.f.read(s.buf)
	if isIO(end) {
		return h, end
	}
	s.buf = s.buf[:q.f.off-at-int64(len(raw))]
	best, _, err := pick(&raw, &hs, &errs, s.buf, anyHeader)
	if err == nil {
		err = q.seen.repeated(best)
	}
	first := uint64(0)
	if err == nil {
		first = best.first()
	}
	if !q.any {
		q.any, q.first = true, first
	}
	q.finish(first)
	if err != nil {
		q.r.merge.release(s)
		return *best, err
	}
	h = *best
	q.held, q.at, q.raw, q.hs, q.errs, q.s, q.h = true, at, raw, hs, errs, s, &h
	return h, end
}

// finish adds the waiting slot to the merge. The next slot was started with sequence number first.
func (q *slotQueue) finish(first uint64) {
	if !q.held {
		return
	}
	q.held = false
	h, err := q.h, error(nil)
	if h.Gen&continues != 0 && first != h.Seq+1 {
		h, _, err = pick(&q.raw, &q.hs, &q.errs, q.s.buf, func(o *header) bool { return o.Seq < q.h.Seq })
	}
	if err != nil {
		q.r.damage(q.at, "slot", err)
		q.r.merge.release(q.s)
		return
	}
	q.f.addBlock(q.s, q.at, h, q.s.buf[:h.Len])
}

// close ends the queue behind the last slot, or with cut set where the log ends before it.
func (q *slotQueue) close(cut bool) {
	if cut {
		q.first = 0
	}
	q.finish(q.first)
}

// head reads the head of a Loop log.
func (f *forwardSource) head() error {
	r := f.r
	if err := f.anchors(0); err != nil {
		return err
	}
	h, p, err := f.area(r.super.namesSize())
	if isIO(err) || errors.Is(err, errCut) {
		return err
	}
	f.copies.addTypes(r.super, &h, p, err)
	return f.skip(r.super.slotAt(0) - f.off)
}

// anchors reads one of the two areas for clock anchors.
func (f *forwardSource) anchors(side int64) error {
	r := f.r
	h, p, err := f.area(anchorAreaSize)
	if isIO(err) || errors.Is(err, errCut) {
		return err
	}
	f.copies.addAnchors(r.super, side, &h, p, err)
	return f.skip(r.super.anchorAreaAt(side) + anchorAreaSize - f.off)
}

// area reads the block at the start of an area of size bytes.
func (f *forwardSource) area(size int64) (h header, p []byte, err error) {
	h, err = f.header(f.r.super.ID)
	if err == nil && h.size() > size {
		err = errLength
	}
	if err == nil {
		p, err = f.payload(&h, nil)
	}
	return h, p, err
}
