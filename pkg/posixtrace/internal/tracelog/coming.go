package tracelog

import (
	"cmp"
	"fmt"
	"slices"
)

// What of a log in a file is still to come: blocks that are not open, and parts of the index
// that are not read again until the order of times comes to what they name. So of an index, too,
// only a small part is in memory or read, whatever the size of the log.

// indexPart is what is kept of a part of the index.
type indexPart struct {
	at       int64 // where it is
	from, to int64 // the first and the last block of events that it names
	end      int64 // and where the next such begins
	min, max uint64
	types    Coarse
}

// add enters a block of events, which are named in the order in which they are in the file.
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

// setParts takes the parts of an index, in the order of the file from the last to the first.
// Blocks that shared bytes could together be any number of times as large as their file.
func (r *Reader) setParts(parts []indexPart) error {
	end := r.b.size - sealSize
	for i := range parts {
		p := &parts[i]
		if end-p.to <= headerSize {
			return fmt.Errorf("blocks at %d: %w", p.to, errIndex)
		}
		p.end, end = end, p.from
	}
	slices.SortFunc(parts, func(a, b indexPart) int { return cmp.Compare(a.min, b.min) })
	r.parts = parts
	return nil
}

// wants reports whether a block or a part with these times and types may have events that are
// selected.
func (r *Reader) wants(min, max uint64, types *Coarse) bool {
	return max >= r.min && min <= r.max && (r.sel == nil || types.meets(&r.coarse))
}

// readPart enters the blocks that a part of the index names. Only a failure to read
// is an error.
func (r *Reader) readPart(p *indexPart) error {
	h, b, err := r.b.block(p.at, r.partBuf)
	if isIO(err) {
		return err
	}
	if err == nil {
		r.partBuf = b
		if h.Kind != KindIndex {
			err = errIndex
		} else {
			_, r.entries, err = decodeIndex(b, r.entries[:0])
		}
	}
	r.blocks = append(r.blocks[:0], r.blocks[r.next:]...)
	r.next = 0
	if err == nil {
		err = r.enter(p)
	}
	if err != nil { // it was sound when the log was opened
		r.damage(p.at, "index", err)
	}
	return nil
}

// enter enters the blocks that the entries of a part name.
func (r *Reader) enter(p *indexPart) error {
	kept := len(r.blocks)
	end := p.end
	for i := range slices.Backward(r.entries) {
		e := &r.entries[i]
		if e.Kind != KindEvents {
			continue
		}
		room := end - e.Off
		if e.Off < p.from || room <= headerSize || e.Min < p.min {
			r.blocks = r.blocks[:kept]
			return errIndex
		}
		end = e.Off
		if r.wants(e.Min, e.Max, &e.Types) {
			r.blocks = append(r.blocks, desc{off: e.Off, seq: e.Seq, min: e.Min, max: e.Max, room: room})
		}
	}
	slices.SortFunc(r.blocks, desc.compare)
	return nil
}

// coming returns the earliest block that is not open if it begins at tick or before, or nil.
func (r *Reader) coming(tick uint64) (*desc, error) {
	for r.part < len(r.parts) {
		p := &r.parts[r.part]
		if p.min > tick || r.next < len(r.blocks) && p.min > r.blocks[r.next].min {
			break
		}
		r.part++
		if r.wants(p.min, p.max, &p.types) {
			if err := r.readPart(p); err != nil {
				return nil, err
			}
		}
	}
	if r.next < len(r.blocks) && r.blocks[r.next].min <= tick {
		return &r.blocks[r.next], nil
	}
	return nil, nil
}

// comingAt returns a time before which no block begins that is not open.
func (r *Reader) comingAt() uint64 {
	tick := ^uint64(0)
	if r.next < len(r.blocks) {
		tick = r.blocks[r.next].min
	}
	if r.part < len(r.parts) {
		tick = min(tick, r.parts[r.part].min)
	}
	return tick
}
