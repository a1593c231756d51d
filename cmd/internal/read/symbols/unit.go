package symbols

import (
	"debug/dwarf"
	"encoding/binary"
)

// unitHeads returns where the first entry of each unit is in .debug_info. It fails if reading the
// units would cost more than the size of the file warrants: each unit names a table in
// .debug_abbrev, and the tables of a harmful file overlap.
func unitHeads(info, abbrev []byte, order binary.ByteOrder) (heads []dwarf.Offset, err error) {
	tables := make(map[uint64]bool)
	room := 2*len(abbrev) + 1
	for at := 0; at < len(info); {
		h, ok := readHead(info[at:], order)
		if !ok || len(heads) == maxUnits {
			return nil, errLines
		}
		if !tables[h.abbrev] {
			tables[h.abbrev] = true
			if h.abbrev > uint64(len(abbrev)) {
				return nil, errLines
			}
			if room -= tableSize(abbrev[h.abbrev:], room); room <= 0 {
				return nil, errLines
			}
		}
		heads = append(heads, dwarf.Offset(at+h.first))
		at += h.size
	}
	return heads, nil
}

// head is the header of a unit.
type head struct {
	size   int    // of the unit
	first  int    // where its first entry is
	abbrev uint64 // its table in .debug_abbrev
}

// Types of units that have a longer header, in DWARF 5.
const (
	unitType      = 2
	unitSkeleton  = 4
	unitSplit     = 5
	unitSplitType = 6
)

func readHead(b []byte, order binary.ByteOrder) (h head, ok bool) {
	defer func() { // b is too short
		if recover() != nil {
			ok = false
		}
	}()
	i, word := 4, 4
	size := uint64(order.Uint32(b))
	if size == 0xffffffff {
		size, i, word = order.Uint64(b[4:]), 12, 8
	}
	if size > uint64(len(b)-i) {
		return h, false
	}
	h.size = i + int(size)
	read := func() uint64 {
		at := i
		if i += word; word == 8 {
			return order.Uint64(b[at:])
		}
		return uint64(order.Uint32(b[at:]))
	}
	version := order.Uint16(b[i:])
	i += 2
	if version < 5 {
		h.abbrev = read()
		i++ // the size of an address
	} else {
		kind := b[i]
		i += 2
		h.abbrev = read()
		switch kind {
		case unitSkeleton, unitSplit:
			i += 8
		case unitType, unitSplitType:
			i += 8 + word
		}
	}
	h.first = i
	return h, 2 <= version && version <= 5 && i < h.size
}

// tableSize returns how many bytes a table of .debug_abbrev has, at most limit.
func tableSize(b []byte, limit int) int {
	n := 0
	next := func() (v uint64) {
		for shift := 0; n < len(b) && n < limit; shift += 7 {
			c := b[n]
			n++
			if v |= uint64(c&0x7f) << min(shift, 63); c < 0x80 {
				return v
			}
		}
		return 0
	}
	for n < min(len(b), limit) && next() != 0 { // the code
		next() // the tag
		n++    // whether it has children
		for n < min(len(b), limit) {
			attribute, form := next(), next()
			if form == 0x21 { // DW_FORM_implicit_const
				next()
			}
			if attribute == 0 && form == 0 {
				break
			}
		}
	}
	return min(n, limit)
}
