package tracelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// holdMax bounds the payloads that a forward reader holds back for the end of
// their group. Recorders end a group with every flush; a log that does not is
// reported in pieces, each in order.
const holdMax = 256 << 20

// forwardReader reads a log that cannot seek. Events are held back until the
// end of their group says that nothing earlier will come.
type forwardReader struct {
	in      *bufio.Reader
	off     int64
	last    uint64 // sequence number
	horizon uint64 // events up to here may be reported
	ended   bool
	hold    int64
	buf     []byte
	raw     [headerSize]byte

	copies copies // of a Loop log
}

// OpenStream returns a reader of the log that r yields, which is read forward
// once. What is no log is an error that wraps ErrNotLog.
func OpenStream(in io.Reader) (*Reader, error) {
	f := &forwardReader{in: bufio.NewReaderSize(in, 64<<10), hold: holdMax}
	b := make([]byte, superFixed)
	if err := f.read(b); err != nil {
		return nil, superErr(err)
	}
	n, err := superLen(b)
	if err != nil {
		return nil, err
	}
	b = append(b, make([]byte, n-superFixed)...)
	if err := f.read(b[superFixed:]); err != nil {
		return nil, superErr(err)
	}
	s, err := decodeSuper(b)
	if err != nil {
		return nil, err
	}
	r := newReader(s)
	r.s = f
	return r, nil
}

func (f *forwardReader) read(p []byte) error {
	n, err := io.ReadFull(f.in, p)
	f.off += int64(n)
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return errCut
	}
	return &ioError{err}
}

func (f *forwardReader) skip(n int64) error {
	for n > 0 {
		k, err := f.in.Discard(int(min(n, 1<<20)))
		f.off += int64(k)
		n -= int64(k)
		if err == io.EOF {
			return errCut
		}
		if err != nil {
			return &ioError{err}
		}
	}
	return nil
}

func (f *forwardReader) header(id uint64) (h header, err error) {
	if err := f.read(f.raw[:]); err != nil {
		return h, err
	}
	h.decode(&f.raw)
	return h, h.check(id)
}

func (f *forwardReader) payload(h *header, buf []byte) ([]byte, error) {
	buf = grow(buf, int(h.Len))
	if err := f.read(buf); err != nil {
		return nil, err
	}
	if checksum(&f.raw, buf) != h.CRC {
		return buf, errChecksum
	}
	return buf, nil
}

// more reads up to the end of the next group, or of the log. Only a failure to
// read is an error.
func (f *forwardReader) more(r *Reader) error {
	loop := r.super.LogPolicy == Loop
	if loop && f.last == 0 {
		err := f.loopArea(r)
		r.takeAnchors(&f.copies)
		if errors.Is(err, errCut) {
			r.unfinished(f.off, err)
			f.end(r)
			return nil
		}
		if err != nil {
			return err
		}
	}
	for {
		at := f.off
		grouped, err := f.block(r, loop)
		switch {
		case isIO(err):
			return err
		case errors.Is(err, errCut) || errors.Is(err, errNoBlock) || err != nil && !r.sealed && f.atEnd():
			r.unfinished(at, err)
			f.end(r)
			return nil
		case err != nil:
			r.damage(at, "block", err)
			f.end(r)
			return nil
		case r.sealed:
			f.end(r)
			return nil
		case grouped:
			return nil
		case r.merge.held > f.hold:
			if loop {
				return fmt.Errorf("log: more than %d bytes of events cannot be put in order without seeking", f.hold)
			}
			// Better late than never: what is held is reported now.
			f.horizon = max(f.horizon, r.merge.newest())
			return nil
		}
	}
}

// atEnd reports whether nothing follows. An unsound block is then what the
// recorder was writing when it died.
func (f *forwardReader) atEnd() bool {
	_, err := f.in.Peek(1)
	return err == io.EOF
}

func (f *forwardReader) end(r *Reader) {
	f.ended, f.horizon = true, ^uint64(0)
	r.takeTypes(&f.copies)
}

// block reads one block in sequence and reports whether it ended a group.
func (f *forwardReader) block(r *Reader, loop bool) (grouped bool, err error) {
	at := f.off
	h, err := f.header(r.super.ID)
	if err != nil {
		return false, err
	}
	if h.Seq == 0 || f.last != 0 && !follows(f.last, h.Seq, loop) {
		return false, errSequence
	}
	f.last = h.Seq
	if h.Kind == KindEvents && !loop {
		s := r.merge.source()
		if s.buf, err = f.payload(&h, s.buf); err != nil {
			return false, err
		}
		r.addSource(s, at, &h, s.buf)
		return false, nil
	}
	p, err := f.payload(&h, f.buf)
	if p != nil {
		f.buf = p
	}
	if err != nil {
		if h.Kind == KindIndex && errors.Is(err, errChecksum) {
			r.damage(at, "index", err)
			return false, nil
		}
		return false, err
	}
	if h.Kind == KindGroup {
		w, err := decodeGroup(p)
		f.horizon = max(f.horizon, w)
		return true, err
	}
	if err := wholeSeal(&h, p, f.off); err != nil {
		return false, err
	}
	return false, r.apply(&h, p)
}

// loopArea reads the slots of a Loop log and what stands before and behind them; nothing
// can be reported before the last of them.
func (f *forwardReader) loopArea(r *Reader) error {
	if err := f.head(r); err != nil {
		return err
	}
	var torn []Fault
	var slots []int
	newest, seq := -1, uint64(0)
	q := &slotQueue{f: f, r: r}
	for i := range int(r.super.Slots) {
		at := f.off
		h, err := q.slot(at)
		if err == nil && h.Seq > seq {
			newest, seq = i, h.Seq
		}
		switch {
		case isIO(err):
			return err
		case errors.Is(err, errCut):
			q.close(i+1 < int(r.super.Slots))
			return err
		case err != nil && !errors.Is(err, errNoBlock) && len(torn) < 2:
			torn = append(torn, Fault{at, "slot", err})
			slots = append(slots, i)
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
	for i := range torn {
		if slots[i] != (newest+1)%int(r.super.Slots) {
			r.damage(torn[i].Offset, torn[i].What, torn[i].Err)
			break
		}
	}
	if !r.super.twice() {
		if err := f.anchors(r, 0); err != nil {
			return err
		}
	}
	return f.anchors(r, 1)
}

// slotQueue takes the slots of a Loop log as they come. Whether a divided chunk
// counts is seen only from the next slot, behind the last one from the first.
type slotQueue struct {
	f     *forwardReader
	r     *Reader
	once  onceEach
	begun uint64 // with which sequence number the first slot was
	any   bool   // there was a slot
	held  bool   // the slot before waits:
	at    int64
	raw   [2 * headerSize]byte
	hs    [2]header
	errs  [2]error
	s     *source
	h     *header
}

// slot reads the slot that comes next.
func (q *slotQueue) slot(at int64) (h header, err error) {
	if !q.r.super.joins() {
		return q.single(at)
	}
	var raw [2 * headerSize]byte
	if err := q.f.read(raw[:]); err != nil {
		return h, err
	}
	hs, errs, n := q.r.super.heads(&raw)
	s := q.r.merge.source()
	s.buf = grow(s.buf, n)
	end := q.f.read(s.buf)
	if isIO(end) {
		return h, end
	}
	s.buf = s.buf[:q.f.off-at-int64(len(raw))]
	best, _, err := pick(&raw, &hs, &errs, s.buf, anyHeader)
	if err == nil {
		err = q.once.see(q.r.super, best)
	}
	begun := uint64(0)
	if err == nil {
		begun = best.first()
	}
	if !q.any {
		q.any, q.begun = true, begun
	}
	q.settle(begun)
	if err != nil {
		q.r.merge.release(s)
		return *best, err
	}
	h = *best
	q.held, q.at, q.raw, q.hs, q.errs, q.s, q.h = true, at, raw, hs, errs, s, &h
	return h, end
}

// settle takes the slot that waits, whose successor was begun with sequence
// number begun.
func (q *slotQueue) settle(begun uint64) {
	if !q.held {
		return
	}
	q.held = false
	h, err := q.h, error(nil)
	if h.Gen&continues != 0 && begun != h.Seq+1 {
		h, _, err = pick(&q.raw, &q.hs, &q.errs, q.s.buf, func(o *header) bool { return o.Seq < q.h.Seq })
	}
	if err != nil {
		q.r.damage(q.at, "slot", err)
		q.r.merge.release(q.s)
		return
	}
	q.r.addSource(q.s, q.at, h, q.s.buf[:h.Len])
}

// close is called behind the last slot, or with cut set if the log ends before it.
func (q *slotQueue) close(cut bool) {
	if cut {
		q.begun = 0
	}
	q.settle(q.begun)
}

// single reads a slot of a log of version 1, which holds one chunk.
func (q *slotQueue) single(at int64) (h header, err error) {
	if h, err = q.f.header(q.r.super.ID); err != nil {
		return h, err
	}
	if h.Kind != KindEvents || h.size() > q.r.super.slotSize() {
		return h, errLength
	}
	s := q.r.merge.source()
	if s.buf, err = q.f.payload(&h, s.buf); err == nil {
		err = q.once.see(q.r.super, &h)
	}
	if err != nil {
		q.r.merge.release(s)
		return h, err
	}
	q.r.addSource(s, at, &h, s.buf)
	return h, nil
}

// head reads what stands before the slots of a Loop log.
func (f *forwardReader) head(r *Reader) error {
	if !r.super.twice() {
		return nil
	}
	if err := f.anchors(r, 0); err != nil {
		return err
	}
	h, p, err := f.place(r, r.super.namesSize())
	if isIO(err) || errors.Is(err, errCut) {
		return err
	}
	f.copies.seeTypes(r.super, &h, p, err)
	return f.skip(r.super.slotAt(0) - f.off)
}

// anchors reads one of the two slots for clock anchors.
func (f *forwardReader) anchors(r *Reader, side int64) error {
	h, p, err := f.place(r, anchorSlotSize)
	if isIO(err) || errors.Is(err, errCut) {
		return err
	}
	f.copies.seeAnchors(r.super, side, &h, p, err)
	return f.skip(r.super.anchorSlotAt(side) + anchorSlotSize - f.off)
}

// place reads the block that begins a place of size bytes.
func (f *forwardReader) place(r *Reader, size int64) (h header, p []byte, err error) {
	h, err = f.header(r.super.ID)
	if err == nil && h.size() > size {
		err = errLength
	}
	if err == nil {
		p, err = f.payload(&h, nil)
	}
	return h, p, err
}
