package tracelog

import (
	"cmp"
	"fmt"
	"slices"
)

// indexSource reads the blocks of a file that its index names. A part of the index is read again
// when the order of times comes to it, so only a small part of the index is in memory, whatever the
// size of the log.
type indexSource struct {
	fileBlocks
	seal  *seal
	parts []indexPart // by their times
	part  int         // the first of parts that was not read

	buf     []byte // of the part that was read last
	entries []entry
}

// indexPart describes a part of the index.
type indexPart struct {
	at       int64 // its offset
	from, to int64 // the first and the last block of events that it names
	end      int64 // and where the next such begins
	min, max uint64
	types    Coarse
}

// add enters a block of events. Entries name blocks in their order in the file.
func (p *indexPart) add(e *entry) error {
	if p.from == 0 {
		p.from, p.min = e.Off, e.Min
	} else if e.Off-p.to <= headerSize {
		return fmt.Errorf("blocks at %d: %w", e.Off, errIndex)
	}
	p.to = e.Off
	p.min, p.max = min(p.min, e.Min), max(p.max, e.Max)
	for i := range p.types {
		p.types[i] |= e.Types[i]
	}
	return nil
}

// openIndex reads everything but events from the blocks that the index of a sealed log names. An
// error that is no failure to read means that the index is unsound; the contents are unchanged
// then.
func (r *Reader) openIndex(blocks fileBlocks, s *seal) error {
	x := &indexSource{fileBlocks: blocks, seal: s}
	others, err := x.readIndex()
	if err != nil {
		return err
	}
	if err := x.readOthers(others); err != nil {
		return err
	}
	r.sealed = true
	r.status, r.known = s.Status, true
	r.src = x
	if err := r.Rewind(); err != nil {
		return err
	}
	return x.endCopies()
}

// readIndex notes the parts of the index and returns the entries of blocks that hold no events.
func (x *indexSource) readIndex() (others []entry, err error) {
	var parts []indexPart
	var events uint64
	err = x.b.readIndex(x.seal, func(at int64, entries []entry) error {
		p := indexPart{at: at}
		for i := range entries {
			e := &entries[i]
			if e.Kind != KindEvents {
				others = append(others, *e)
				continue
			}
			events += uint64(e.Count)
			if err := p.add(e); err != nil {
				return err
			}
		}
		if p.from != 0 {
			parts = append(parts, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := x.setParts(parts); err != nil {
		return nil, err
	}
	if events != x.seal.Events {
		return nil, fmt.Errorf("%d events where the seal says %d: %w", events, x.seal.Events, errIndex)
	}
	return others, nil
}

// setParts stores the parts of an index, which come in the order of the file from the last to the
// first. It refuses blocks that share bytes: together they could be any number of times as large as
// their file.
func (x *indexSource) setParts(parts []indexPart) error {
	end := x.b.size - sealSize
	for i := range parts {
		p := &parts[i]
		if end-p.to <= headerSize {
			return fmt.Errorf("blocks at %d: %w", p.to, errIndex)
		}
		p.end, end = end, p.from
	}
	slices.SortFunc(parts, func(a, b indexPart) int { return cmp.Compare(a.min, b.min) })
	x.parts = parts
	return nil
}

// readOthers applies the blocks of entries in the order in which they were written, up to the first
// unsound one. Only a failure to read is an error.
func (x *indexSource) readOthers(entries []entry) error {
	r := x.r
	slices.SortFunc(entries, func(a, b entry) int { return compare(a.Seq, b.Seq) })
	var buf []byte
	last := uint64(0)
	for _, e := range entries {
		h, p, err := x.b.block(e.Off, buf)
		if err == nil && (h.Seq != e.Seq || h.Seq <= last) {
			err = errSequence
		}
		if p != nil {
			buf, last = p, h.Seq
		}
		if err == nil {
			err = r.apply(&h, p)
		}
		if isIO(err) {
			return err
		}
		if err != nil {
			r.damageAt(e.Off, e.Kind, e.Seq, err)
			r.cutAtOpen = r.cut
			return nil
		}
	}
	return nil
}

func (x *indexSource) fill(bool) (limit uint64, ok bool, err error) {
	err = x.r.openUntil(x)
	limit = x.begin()
	if x.part < len(x.parts) {
		limit = min(limit, x.parts[x.part].min)
	}
	return limit, true, err
}

func (x *indexSource) rewind() error {
	x.refs, x.next, x.part = x.refs[:0], 0, 0
	return nil
}

func (x *indexSource) untouched() bool { return x.part == 0 && x.next == 0 }

func (x *indexSource) take(tick uint64) (*blockRef, error) {
	for x.part < len(x.parts) {
		p := &x.parts[x.part]
		if p.min > tick || p.min > x.begin() {
			break
		}
		x.part++
		if x.r.sel.wants(p.min, p.max, &p.types) {
			if err := x.readPart(p); err != nil {
				return nil, err
			}
		}
	}
	return x.first(tick), nil
}

// readPart enters the blocks that a part of the index names. Only a failure to read is an error.
func (x *indexSource) readPart(p *indexPart) error {
	h, b, err := x.b.block(p.at, x.buf)
	if isIO(err) {
		return err
	}
	if err == nil {
		x.buf = b
		if h.Kind != KindIndex {
			err = errIndex
		} else {
			_, x.entries, err = decodeIndex(b, x.entries[:0])
		}
	}
	x.refs = append(x.refs[:0], x.refs[x.next:]...)
	x.next = 0
	if err == nil {
		err = x.enter(p)
	}
	if err != nil { // it was sound when the log was opened
		x.r.damage(p.at, "index", err)
	}
	return nil
}

// enter enters the blocks that the entries of a part name.
func (x *indexSource) enter(p *indexPart) error {
	kept := len(x.refs)
	end := p.end
	for i := range slices.Backward(x.entries) {
		e := &x.entries[i]
		if e.Kind != KindEvents {
			continue
		}
		room := end - e.Off
		if e.Off < p.from || room <= headerSize || e.Min < p.min {
			x.refs = x.refs[:kept]
			return errIndex
		}
		end = e.Off
		if x.r.sel.wants(e.Min, e.Max, &e.Types) {
			x.refs = append(x.refs, blockRef{off: e.Off, seq: e.Seq, min: e.Min, max: e.Max, room: room})
		}
	}
	x.sort()
	return nil
}
