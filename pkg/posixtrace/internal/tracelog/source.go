package tracelog

import (
	"errors"
	"math"
	"slices"
)

// A Reader reads the blocks of events of a log through a blockSource:
//
//	indexSource    a file that ends with a seal and a sound index; parts of the index are read
//	               when the order of times comes to them
//	walkSource     a file without: the blocks are found by going from one to the next, those of
//	               a Loop log by going through its slots
//	forwardSource  a pipe or the like, which is read once, block by block
//
// The first two are a fileSource, which can read any block at any time.

// blockSource adds the blocks of a log to its Reader's merge.
type blockSource interface {
	// fill adds the blocks that may hold the next event. No event before limit is in a block
	// that it has not added. It returns false at the end of the log, and where it would have to
	// wait but wait is not set. An error means that reading failed.
	fill(wait bool) (limit uint64, ok bool, err error)
	// rewind goes back to the first block.
	rewind() error
}

// fileSource is the blockSource of a log in a file.
type fileSource interface {
	blockSource
	// take returns the next block in the order of first events if it begins at tick or before,
	// else nil. The block is valid until the next call.
	take(tick uint64) (*blockRef, error)
	// read reads a block that take has returned.
	read(d *blockRef, buf []byte) (h header, p []byte, err error)
	// untouched reports whether take has returned nothing since the last rewind.
	untouched() bool
}

// blockRef describes a block of events that is not open.
type blockRef struct {
	off      int64
	seq      uint64
	min, max uint64
	room     int64 // the most that the block takes up
	// Of a slot that may grow while a reader reads: the sequence number with which it was
	// started, and the state of its block.
	first      uint64
	len, count uint32
}

// compare orders blocks by their first events, then as they were written.
func (d blockRef) compare(e blockRef) int {
	if c := compare(d.min, e.min); c != 0 {
		return c
	}
	return compare(d.seq, e.seq)
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// fileBlocks is the common part of the two fileSources.
type fileBlocks struct {
	r    *Reader
	b    *blocks
	refs []blockRef // in the order of their first events
	next int        // the first of refs that is not open
	// overwritten is set for a Loop log whose recorder may live and write over blocks.
	overwritten bool
}

// first returns the next block if it begins at tick or before, else nil.
func (f *fileBlocks) first(tick uint64) *blockRef {
	if f.next == len(f.refs) || f.refs[f.next].min > tick {
		return nil
	}
	f.next++
	return &f.refs[f.next-1]
}

// begin returns when the next block begins.
func (f *fileBlocks) begin() uint64 {
	if f.next == len(f.refs) {
		return math.MaxUint64
	}
	return f.refs[f.next].min
}

func (f *fileBlocks) sort() { slices.SortFunc(f.refs, blockRef.compare) }

// errReplaced says that a Loop log has given up a block for newer events since the log was opened.
var errReplaced = errors.New("replaced by its recorder")

// read reads the block that d describes, and no other.
func (f *fileBlocks) read(d *blockRef, buf []byte) (h header, p []byte, err error) {
	if f.r.super.LogFullPolicy == Loop {
		h, p, err = f.b.slotOf(d, buf)
	} else {
		h, p, err = f.b.block(d.off, buf)
	}
	switch {
	case err != nil:
	case h.Kind != KindEvents:
		err = errSequence
	case h.size() > d.room:
		err = errLength
	case h.Seq > d.seq && f.overwritten:
		err = errReplaced
	case h.Seq != d.seq || h.Min != d.min || h.Max != d.max:
		err = errSequence
	}
	return h, p, err
}

// endCopies takes the types of a log in a file.
func (f *fileBlocks) endCopies() error {
	r := f.r
	if r.sealed && r.super.LogFullPolicy == Loop && !f.b.copies.whole() {
		// Its recorder may have been writing them, and have finished the log meanwhile.
		if err := f.b.readCopies(); err != nil {
			return err
		}
		r.takeAnchors(&f.b.copies)
	}
	r.takeTypes(&f.b.copies)
	return nil
}

// openUntil opens the blocks of f that begin no later than the first event in the merge.
func (r *Reader) openUntil(f fileSource) error {
	for {
		d, err := f.take(r.merge.first())
		if err != nil || d == nil {
			return err
		}
		if d.seq > r.cut || !r.sel.overlaps(d.min, d.max) {
			continue
		}
		if err := r.open(f, d); err != nil {
			return err
		}
	}
}

// open reads the block that d describes and adds it to the merge. Only a failure to read is an
// error.
func (r *Reader) open(f fileSource, d *blockRef) error {
	s := r.merge.newBlock()
	h, p, err := f.read(d, s.buf)
	if err == nil {
		s.buf = p
		r.addBlock(s, d.off, &h, p)
		return nil
	}
	r.merge.release(s)
	switch {
	case err == errReplaced: // its recorder lives and has overwritten it since
		return nil
	case isIO(err):
		return err
	}
	r.damageAt(d.off, KindEvents, d.seq, err)
	return nil
}
