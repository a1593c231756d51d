package tracelog

import (
	"io"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Reader reads the events of a log in the order of their times. It is not safe for concurrent use.
// It trusts nothing in the log, and never reports an unsound event.
//
// A log that was written forward is read up to its first unsound block. A payload is verified only
// when its events are needed, so the reader may find that block after it has reported events of
// later blocks that are earlier in time; those were sound. Of a Loop log single unsound slots are
// left out.
type Reader struct {
	contents
	sel   selection
	src   blockSource
	merge merge
	cut   uint64 // blocks with a greater sequence number do not count
	err   error  // reading failed

	cutAtOpen uint64 // cut when the log was opened

	memory []chunk.Record // for the events that Next reads at once
	ahead  []chunk.Record // those of them that Next has not reported
	hold   Hold

	// OnWait, if set, is called before a read from a log that is read forward. That read may
	// wait for the recorder.
	OnWait func()

	// Maps makes Next and NextBatch set Record.Maps. A selection with the type proc.map then also has
	// the events that follow a note on a mapping, whatever their types.
	Maps bool
}

func newReader(s *Super) *Reader {
	return &Reader{
		contents: contents{super: s, names: map[event.ID]string{}},
		sel:      selection{max: ^uint64(0)},
		cut:      ^uint64(0),

		cutAtOpen: ^uint64(0),
	}
}

// OpenFile returns a reader of the log in the first size bytes of f. A file that is no log is an
// error that wraps ErrNotLog; every log whose superblock is sound can be opened.
func OpenFile(f io.ReaderAt, size int64) (*Reader, error) {
	b, err := openBlocks(f, size)
	if err != nil {
		return nil, err
	}
	r := newReader(b.super)
	loop := b.super.LogFullPolicy == Loop
	if loop {
		if err := b.readCopies(); err != nil {
			return nil, err
		}
		r.takeAnchors(&b.copies)
	}
	seal, err := b.seal()
	if err != nil {
		return nil, err
	}
	blocks := fileBlocks{r: r, b: b}
	if seal != nil {
		switch err := r.openIndex(blocks, seal); {
		case err == nil:
			return r, nil
		case isIO(err):
			return nil, err
		default:
			r.damage(int64(seal.Index), "index", err)
			r.status, r.known = seal.Status, true
		}
	}
	blocks.overwritten = loop
	return r, r.openWalk(blocks)
}

// Totals returns the totals of the seal of a finished log in a file, false for any other log.
func (r *Reader) Totals() (Totals, bool) {
	x, ok := r.src.(*indexSource)
	if !ok {
		return Totals{}, false
	}
	return x.seal.Totals, true
}

// Rewind goes back to the first event. Errors: ESPIPE for a log that is read forward from what cannot
// seek.
func (r *Reader) Rewind() error {
	if err := r.src.rewind(); err != nil {
		return err
	}
	r.err, r.ahead = nil, nil
	r.cut = r.cutAtOpen // what is found unsound on the way is found there again
	r.merge.reset()
	return nil
}

// Next decodes the next event into rec. It returns false at the end of the sound part of the log;
// State then returns what kind of end that is. rec.Data is valid until the next call. An error
// means that reading failed.
func (r *Reader) Next(rec *chunk.Record) (bool, error) {
	if len(r.ahead) == 0 {
		if r.memory == nil {
			r.memory = make([]chunk.Record, 32)
		}
		n, err := r.NextBatch(r.memory, &r.hold)
		if n == 0 {
			return false, err
		}
		r.ahead = r.memory[:n]
	}
	*rec = r.ahead[0]
	r.ahead = r.ahead[1:]
	return true, nil
}

// advance makes the open block with the earliest event the top of the merge, and reports whether
// there is one. Unless wait is set it does not read on in a log that is read forward.
func (r *Reader) advance(wait bool) (bool, error) {
	limit, ok, err := r.src.fill(wait)
	if err != nil {
		r.err = err
		return false, err
	}
	if !ok || len(r.merge.heap) == 0 {
		return false, nil
	}
	r.merge.take(limit)
	return true, nil
}

// addBlock adds a block of events whose checksum is right to the merge.
func (r *Reader) addBlock(s *openBlock, off int64, h *header, p []byte) {
	if err := s.load(h, p, r.super.LogFullPolicy == Loop, r.Maps); err != nil {
		r.damage(off, "events", err)
	}
	if s.left == 0 {
		r.merge.release(s)
		return
	}
	r.merge.add(s)
}

// damageAt records an unsound block. In a log that was written forward, the Reader ignores all
// blocks behind it.
func (r *Reader) damageAt(off int64, k Kind, seq uint64, err error) {
	r.damage(off, k.String(), err)
	if r.super.LogFullPolicy != Loop && seq < r.cut {
		r.cut = seq
		r.merge.drop(seq)
	}
}
