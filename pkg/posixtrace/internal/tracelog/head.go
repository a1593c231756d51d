package tracelog

import "slices"

// The head of a Loop log stands between the superblock and the slots:
//
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//	| super | anchors | types | slot | ... | slot | anchors | types | index | seal |
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//
// The two areas for clock anchors have the same contents, and the block of types those of the blocks
// of types behind the slots, as far as they fit. So a log keeps its names and its clock if its end is
// cut off, and if its head is damaged.

const (
	leastNames = 4 << 10 // room for types in the head
	mostNames  = 64 << 10
)

// namesRoom is how much payload fits into the block of types in the head.
func (s *Super) namesRoom() int {
	return int(min(max(s.LogSize/64, leastNames), mostNames)) &^ 7
}

// namesAt is the offset of that block.
func (s *Super) namesAt() int64 { return s.size + anchorAreaSize }

// namesSize is the size of the area for that block.
func (s *Super) namesSize() int64 { return headerSize + int64(s.namesRoom()) }

// headSize is the size of the head.
func (s *Super) headSize() int64 { return anchorAreaSize + s.namesSize() }

// anchorAreaAt is the offset of one of the two areas for clock anchors of a Loop log.
func (s *Super) anchorAreaAt(side int64) int64 {
	if side == 0 {
		return s.size
	}
	return s.anchorsAt()
}

// copies is the blocks of a Loop log that its recorder overwrites, as a reader finds them: clock
// anchors in their two areas, and types in the head.
type copies struct {
	anchors, types newestCopy
	missing        *Fault // an area for clock anchors has no block
}

// newestCopy is the newest sound block of an area, or of two with the same contents, and the first
// fault found in them.
type newestCopy struct {
	h     header
	p     []byte // nil: there is none
	side  int64
	fault *Fault
}

// offer passes a block of header h and payload p that was read with err from at, where a block of
// kind with at most size bytes may be. It reports whether there is one, sound or not.
func (c *newestCopy) offer(s *Super, kind Kind, side, at, size int64, h *header, p []byte, err error) bool {
	if err == nil && h.Kind == kind && h.size() > size {
		err = errLength
	}
	switch {
	case err == nil && h.Kind == kind:
		if c.p == nil || h.Seq > c.h.Seq {
			c.h, c.p, c.side = *h, p, side
		}
		return true
	case h.Kind != kind && h.ID != s.ID:
		return false
	case err == nil:
		err = errNoBlock
	}
	if c.fault == nil {
		c.fault = &Fault{at, kind.String(), err}
	}
	return true
}

func (c *copies) addAnchors(s *Super, side int64, h *header, p []byte, err error) {
	at := s.anchorAreaAt(side)
	if !c.anchors.offer(s, KindAnchors, side, at, anchorAreaSize, h, p, err) {
		c.missing = &Fault{at, KindAnchors.String(), errNoBlock}
	}
}

func (c *copies) addTypes(s *Super, h *header, p []byte, err error) {
	c.types.offer(s, KindTypes, 0, s.namesAt(), s.namesSize(), h, p, err)
}

// readCopies reads all of them.
func (b *blocks) readCopies() error {
	b.copies = copies{}
	for side := range int64(2) {
		h, p, err := b.block(b.super.anchorAreaAt(side), nil)
		if isIO(err) {
			return err
		}
		b.copies.addAnchors(b.super, side, &h, p, err)
	}
	h, p, err := b.block(b.super.namesAt(), nil)
	if isIO(err) {
		return err
	}
	b.copies.addTypes(b.super, &h, p, err)
	return nil
}

// whole reports whether nothing is unsound or missing.
func (c *copies) whole() bool {
	return c.anchors.fault == nil && c.types.fault == nil && c.missing == nil && c.types.p != nil
}

// takeAnchors applies the clock anchors.
func (l *contents) takeAnchors(c *copies) {
	if c.anchors.p != nil {
		l.apply(&c.anchors.h, c.anchors.p)
	}
}

// takeTypes is called at the end of the sequence of blocks. It applies the types of the head that
// were missing there. In a finished log none of the copies may be unsound, or missing where there
// is another one. In an unfinished log the recorder may have been writing them.
func (l *contents) takeTypes(c *copies) {
	fault := c.types.fault
	if l.super.LogFullPolicy == Loop && fault == nil {
		at := l.super.namesAt()
		if c.types.p == nil {
			if len(l.types) > 0 {
				fault = &Fault{at, KindTypes.String(), errNoBlock}
			}
		} else if err := l.apply(&c.types.h, c.types.p); err != nil {
			fault = &Fault{at, KindTypes.String(), err}
		}
	}
	if !l.sealed {
		return
	}
	if c.anchors.fault == nil && c.anchors.p != nil {
		c.anchors.fault = c.missing
	}
	for _, f := range []*Fault{c.anchors.fault, fault} {
		if f != nil {
			l.damage(f.Offset, f.What, f.Err)
		}
	}
}

// missingTypes returns the types in the head that are not known.
func (c *copies) missingTypes(known func(TypeDef) bool) []TypeDef {
	if c.types.p == nil {
		return nil
	}
	defs, _ := decodeTypes(c.types.p, c.types.h.Count)
	return slices.DeleteFunc(defs, known)
}

// writeHead writes as many types as fit into the head, over those in it. If that write is torn, the
// types behind the slots are whole.
func (w *Writer) writeHead() error {
	if w.super.LogFullPolicy != Loop || w.headDone == len(w.types) {
		return nil
	}
	var b []byte
	n := 0
	for ; n < len(w.types); n++ {
		all := appendType(b, w.types[n])
		if len(all) > w.super.namesRoom() {
			break
		}
		b = all
	}
	if n != w.headHas {
		w.headHas = 0 // in case the write fails
		if err := w.write(w.super.namesAt(), &header{Kind: KindTypes, Count: uint32(n)}, b); err != nil {
			return err
		}
		w.headHas = n
	}
	w.headDone = len(w.types)
	return nil
}
