package tracelog

import "slices"

// The head of a Loop log of version 3 is what stands between the superblock and the slots:
//
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//	| super | anchors | types | slot | ... | slot | anchors | types | index | seal |
//	+-------+---------+-------+------+-   -+------+---------+-------+-------+------+
//
// The two slots for clock anchors say the same, and the block of types the same as those behind the
// slots, as far as there is room. So a log whose end is cut off keeps its names and its clock,
// and one whose head is damaged, too.

const (
	leastNames = 4 << 10 // room for types in the head
	mostNames  = 64 << 10
)

// twice reports whether this is a Loop log with a head.
func (s *Super) hasHead() bool { return s.LogPolicy == Loop && s.Major >= majorHead }

// namesRoom is how much payload fits into the block of types in the head.
func (s *Super) namesRoom() int {
	return int(min(max(s.LogSize/64, leastNames), mostNames)) &^ 7
}

// namesAt is where that block is.
func (s *Super) namesAt() int64 { return s.size + anchorAreaSize }

// namesSize is the size of the room for all of it.
func (s *Super) namesSize() int64 { return headerSize + int64(s.namesRoom()) }

// headSize is the size of the head.
func (s *Super) headSize() int64 {
	if s.hasHead() {
		return anchorAreaSize + s.namesSize()
	}
	return 0
}

// anchorSlotAt is where one of the two slots for clock anchors of a Loop log begins.
func (s *Super) anchorAreaAt(side int64) int64 {
	switch {
	case !s.hasHead():
		return s.anchorsAt() + side*anchorAreaSize
	case side == 0:
		return s.size
	}
	return s.anchorsAt()
}

// copies is what a reader finds in the places of a Loop log that are written over: the two
// slots for clock anchors and the types in the head.
type copies struct {
	anchors, types newestCopy
	missing        *Fault // there is no block in a slot for clock anchors
}

// place is the newest sound block of a place, and what is wrong with it or another.
type newestCopy struct {
	h     header
	p     []byte // nil: there is none
	side  int64
	fault *Fault
}

// see takes a block of header h and payload p that was read with err from at, where one of kind
// and at most size bytes may be. It reports whether there is one, sound or not.
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
	if !c.anchors.offer(s, KindAnchors, side, at, anchorAreaSize, h, p, err) && s.hasHead() {
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
	if b.super.hasHead() {
		h, p, err := b.block(b.super.namesAt(), nil)
		if isIO(err) {
			return err
		}
		b.copies.addTypes(b.super, &h, p, err)
	}
	return nil
}

// whole reports whether nothing is unsound or missing.
func (c *copies) whole() bool {
	return c.anchors.fault == nil && c.types.fault == nil && c.missing == nil && c.types.p != nil
}

// takeAnchors takes the clock anchors that were found.
func (l *contents) takeAnchors(c *copies) {
	if c.anchors.p != nil {
		l.apply(&c.anchors.h, c.anchors.p)
	}
}

// takeTypes comes behind the last block in sequence: it takes from the head what was not there.
// In a log that is finished nothing of all this may be unsound, or missing where there is
// another of it. In another it may be what its recorder was writing.
func (l *contents) takeTypes(c *copies) {
	fault := c.types.fault
	if l.super.hasHead() && fault == nil {
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

// missingTypes returns what the types in the head tell that known does not.
func (c *copies) missingTypes(known func(TypeDef) bool) []TypeDef {
	if c.types.p == nil {
		return nil
	}
	defs, _ := decodeTypes(c.types.p, c.types.h.Count)
	return slices.DeleteFunc(defs, known)
}

// writeHead writes the types into the head, as many as there is room for, in place of those that
// are there. Should it be torn, the types behind the slots are whole.
func (w *Writer) writeHead() error {
	if !w.super.hasHead() || w.headDone == len(w.types) {
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
		w.headHas = 0 // if it fails
		if err := w.write(w.super.namesAt(), &header{Kind: KindTypes, Count: uint32(n)}, b); err != nil {
			return err
		}
		w.headHas = n
	}
	w.headDone = len(w.types)
	return nil
}
