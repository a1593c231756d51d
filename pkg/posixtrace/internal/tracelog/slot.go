package tracelog

import (
	"encoding/binary"
	"errors"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// A slot of a Loop log of version 2 or later is filled chunk by chunk:
//
//	+--------+--------+-------+-------+-------+-----------+
//	| header | header | chunk | chunk | marks | ...  room |
//	+--------+--------+-------+-------+-------+-----------+
//
// It holds one block, which grows. The writer appends the new records, and then writes the header that
// is not in force; that covers everything from the first record on and has the higher sequence number.
// If it is torn, the other header still describes the previous block.
//
// A chunk that does not fit is split between two slots. The header that covers its first part says so,
// and counts only if the next slot was started with the following sequence number: a chunk is in the
// log as a whole or not at all.

var le = binary.LittleEndian

// continues is the value of Gen in the header of a slot whose last chunk continues in the next
// slot.
const continues = 1

// first is the sequence number with which the block of a slot was started.
func (h *header) first() uint64 { return h.Base }

// heads decodes the two headers of a slot, the newer first. n is how much payload is needed to
// verify them.
func (s *Super) heads(b *[2 * headerSize]byte) (hs [2]header, errs [2]error, n int) {
	for i := range hs {
		h := &hs[i]
		h.decode((*[headerSize]byte)(b[i*headerSize:]))
		h.side = i
		errs[i] = h.check(s.ID)
		if errs[i] == nil && (h.Kind != KindEvents || int(h.Len) > s.slotRoom() || h.first() == 0 || h.first() > h.Seq) {
			errs[i] = errLength
		}
		if errs[i] == nil {
			n = max(n, int(h.Len))
		}
	}
	// Of two unsound headers the one of this log is more useful.
	if errs[1] == nil && (errs[0] != nil || hs[1].Seq > hs[0].Seq) || errs[0] == errNoBlock {
		hs[0], hs[1] = hs[1], hs[0]
		errs[0], errs[1] = errs[1], errs[0]
	}
	return hs, errs, n
}

// pick returns the newest sound header of a slot that suits, with the payload that it covers.
func pick(raw *[2 * headerSize]byte, hs *[2]header, errs *[2]error, p []byte, suits func(h *header) bool) (*header, []byte, error) {
	var bad error
	for i := range hs {
		h, err := &hs[i], errs[i]
		switch {
		case err != nil:
		case !suits(h):
			err = errSequence
		case int(h.Len) > len(p):
			err = errCut
		case checksum((*[headerSize]byte)(raw[h.side*headerSize:]), p[:h.Len]) != h.CRC:
			err = errChecksum
		default:
			return h, p[:h.Len], nil
		}
		if bad == nil {
			bad = err
		}
	}
	return &hs[0], nil, bad
}

// slot reads the block in the slot at off whose header suits.
func (b *blocks) slot(off int64, buf []byte, suits func(h *header) bool) (h header, p []byte, err error) {
	var raw [2 * headerSize]byte
	if err := b.readAt(raw[:], off); err != nil {
		return h, nil, err
	}
	hs, errs, n := b.super.heads(&raw)
	off += int64(len(raw))
	p = grow(buf, int(min(int64(n), b.size-off)))
	if err := b.readAt(p, off); err != nil {
		return h, nil, err
	}
	best, p, err := pick(&raw, &hs, &errs, p, suits)
	return *best, p, err
}

func anyHeader(*header) bool { return true }

// filled reads the block in force of slot i.
func (b *blocks) filled(i int, buf []byte) (h header, p []byte, err error) {
	h, p, err = b.slot(b.super.slotAt(i), buf, anyHeader)
	if err != nil || h.Gen&continues == 0 {
		return h, p, err
	}
	next := b.super.slotAt((i + 1) % int(b.super.Slots))
	n, q, err := b.slot(next, b.aux, anyHeader)
	if q != nil {
		b.aux = q
	}
	if isIO(err) || err == nil && n.first() == h.Seq+1 {
		return h, p, noDamage(err)
	}
	o, p, err := b.slot(b.super.slotAt(i), p, func(o *header) bool { return o.Seq < h.Seq })
	o.top = h.Seq
	return o, p, err
}

// noDamage returns err if it is a failure to read, else nil.
func noDamage(err error) error {
	if isIO(err) {
		return err
	}
	return nil
}

// slotOf reads the block that d describes. If the slot has grown since, slotOf returns the old
// part.
func (b *blocks) slotOf(d *blockRef, buf []byte) (h header, p []byte, err error) {
	h, p, err = b.slot(d.off, buf, func(h *header) bool { return h.Seq == d.seq })
	if err == nil || isIO(err) || d.first == 0 {
		return h, p, err
	}
	h, p, err = b.slot(d.off, buf, anyHeader)
	if isIO(err) {
		return h, nil, err
	}
	if err != nil || h.first() != d.first || h.Len < d.len || h.Seq < d.seq {
		return h, nil, errReplaced // it was sound when d was made
	}
	h.Seq, h.Min, h.Max, h.Count, h.Len = d.seq, d.min, d.max, d.count, d.len
	return h, p[:d.len], nil
}

// part is one chunk in a slot, or one of the two parts of a chunk.
type part struct {
	chunk, gen uint32
	base       uint64
	payload    []byte
}

var errJoint = errors.New("no chunk begins where one should")

// parts calls fn for each of the chunks in a slot's payload.
func parts(p []byte, fn func(part)) error {
	var cur part
	start, started := 0, false
	end := func(at int) {
		if started {
			cur.payload = p[start:at]
			fn(cur)
		}
	}
	for off := 0; off < len(p); {
		k, ok := recordAt(p[off:])
		if !ok {
			end(off)
			return errJoint
		}
		if k.kind == chunk.KindJoint {
			end(off)
			cur, started = part{chunk: MarkChunk}, true
			if q := k.data; len(q) >= chunk.JointSize-chunk.HeaderSize {
				cur.chunk, cur.gen, cur.base = le.Uint32(q), le.Uint32(q[4:]), le.Uint64(q[8:])
			}
			start = off + k.size
		} else if !started {
			return errJoint
		}
		off += k.size
	}
	end(len(p))
	return nil
}

// rawRecord is a record as its first eight bytes describe it.
type rawRecord struct {
	kind uint16
	size int
	data []byte
}

// recordAt decodes the start of the record at the start of p.
func recordAt(p []byte) (r rawRecord, ok bool) {
	if len(p) < chunk.HeaderSize {
		return r, false
	}
	n := int(le.Uint16(p[4:]))
	r.kind = le.Uint16(p[6:]) &^ chunk.Truncated
	at := chunk.HeaderSize
	if r.kind == chunk.KindFull {
		at = chunk.FullSize
	}
	if r.size = at + chunk.Align(n); r.size > len(p) {
		return r, false
	}
	r.data = p[at : at+n]
	return r, true
}

// splitPoint returns how many of a chunk's bytes fit into room and end with an event; 0 if there
// are none. sites are the definitions so far and the notes on mappings, and again the base, with
// which the rest starts.
func splitPoint(p []byte, base uint64, room int) (n int, sites []byte, again uint64) {
	var defined []byte
	for off := 0; off < len(p); {
		r, ok := recordAt(p[off:])
		if !ok || off+r.size > room {
			break
		}
		switch r.kind {
		case chunk.KindSite:
			defined = append(defined, p[off:off+r.size]...)
		case chunk.KindPad:
			if chunk.IsMap(le.Uint64(p[off:])) {
				defined = append(defined, p[off:off+r.size]...)
			}
		case chunk.KindBase:
			if len(r.data) == 8 {
				base = le.Uint64(r.data)
			}
		}
		off += r.size
		if r.kind < chunk.MaxSites || r.kind == chunk.KindFull {
			n, sites, again = off, defined, base
		}
	}
	return n, sites, again
}

// slotFaults finds damage among the slots of a Loop log. One slot may be unsound without damage: the
// one behind the newest, which the recorder was writing when it died.
type slotFaults struct {
	seq  uint64 // sequence number of the newest sound slot
	next int    // the slot behind it
	bad  []slotFault
}

type slotFault struct {
	slot int
	off  int64
	err  error
}

func (f *slotFaults) sound(slot int, seq uint64) {
	if seq > f.seq {
		f.seq, f.next = seq, slot+1
	}
}

func (f *slotFaults) unsound(slot int, off int64, err error) {
	if len(f.bad) < 2 { // one of two is damage
		f.bad = append(f.bad, slotFault{slot, off, err})
	}
}

// report records the first damage in c.
func (f *slotFaults) report(c *contents) {
	for _, b := range f.bad {
		if b.slot != f.next%int(c.super.Slots) {
			c.damage(b.off, "slot", b.err)
			return
		}
	}
}
