package unwind

import (
	"cmp"
	"slices"
)

// module is a program or shared library in memory.
type module struct {
	bias   uint64 // what the addresses in its headers lack
	header uint64 // .eh_frame_hdr, 0 if there is none
	table  uint64 // its table of functions, sorted
	count  uint64
	scan   []listed // without that table: the functions of .eh_frame
	golang *goTable
}

// listed is where the CFI of a function is.
type listed struct{ start, entry uint64 }

// Numbers of the ELF format, for programs of 64 bits.
const (
	elfHeader      = 64
	elfMagic       = 0x464c457f
	elfLittle64    = 0x0102 // class and order
	programHeader  = 56
	maxHeaders     = 64
	segmentLoad    = 1
	segmentEHFrame = 0x6474e550
)

const (
	// maxFunctions bounds the functions of a module.
	maxFunctions = 1 << 26
	// maxScanned bounds those that are found one after the other.
	maxScanned = 1 << 16
)

// readModule reads the headers of the module at base. It returns nil if that is no module.
func readModule(p *pages, base uint64) *module {
	c := cursor{from: p, addr: base, end: base + elfHeader}
	magic, kind := c.number(4), c.number(2)
	c.skip(26)
	at, _ := plus(base, c.number(8))
	c.skip(14)
	size, count := c.number(2), c.number(2)
	if c.bad || magic != elfMagic || kind != elfLittle64 || size != programHeader {
		return nil
	}
	m := &module{}
	var header, length uint64
	found := false
	for i := range min(count, maxHeaders) {
		c := cursor{from: p, addr: at + i*programHeader, end: at + (i+1)*programHeader}
		kind, _, offset, address := c.number(4), c.number(4), c.number(8), c.number(8)
		c.skip(16)
		inMemory := c.number(8)
		switch {
		case c.bad:
		case kind == segmentLoad && offset < pageSize && !found:
			m.bias, found = base-address+offset, true
		case kind == segmentEHFrame:
			header, length = address, inMemory
		}
	}
	if found && length > 0 {
		m.readHeader(p, m.bias+header, length)
	}
	return m
}

// readHeader reads .eh_frame_hdr.
func (m *module) readHeader(p *pages, at, size uint64) {
	end, ok := plus(at, size)
	c := cursor{from: p, addr: at, end: end}
	version, frame, count, table := c.byte(), c.byte(), c.byte(), c.byte()
	start := c.pointer(frame, at)
	if !ok || version != 1 || c.bad {
		return
	}
	m.header = at
	if count == encOmit || table != encData|encS4 {
		m.scanFrom(p, start, ^uint64(0))
		return
	}
	m.count = c.pointer(count, at)
	m.table = c.addr
	if c.bad || m.count > min(maxFunctions, (end-min(end, m.table))/8) {
		m.count = 0
	}
}

// scanFrom lists the functions of .eh_frame.
func (m *module) scanFrom(p *pages, at, end uint64) {
	var last shared
	for range maxScanned {
		if at >= end {
			break
		}
		c, next, ok := open(p, at)
		if !ok {
			break
		}
		if c.number(4) != 0 {
			if e, ok := readEntry(p, at, m.header, &last); ok && e.start < e.end {
				m.scan = append(m.scan, listed{e.start, at})
			}
		}
		at = next
	}
	slices.SortFunc(m.scan, func(a, b listed) int { return cmp.Compare(a.start, b.start) })
}

// find returns the entry of the function that has an address.
func (m *module) find(p *pages, at uint64) (e entry, ok bool) {
	addr := uint64(0)
	switch {
	case m.count > 0:
		addr, ok = m.search(p, at)
	case len(m.scan) > 0:
		i, exact := slices.BinarySearchFunc(m.scan, at, func(f listed, at uint64) int { return cmp.Compare(f.start, at) })
		if !exact {
			i--
		}
		if ok = i >= 0; ok {
			addr = m.scan[i].entry
		}
	}
	if !ok {
		return e, false
	}
	e, ok = readEntry(p, addr, m.header, &shared{})
	return e, ok && e.start <= at && at < e.end
}

// search searches the table of .eh_frame_hdr: pairs of the start of a function and of its entry.
func (m *module) search(p *pages, at uint64) (addr uint64, ok bool) {
	pair := func(i uint64) (start, entry uint64, ok bool) {
		v, ok := p.word(m.table + 8*i)
		return m.header + uint64(int64(int32(v))), m.header + uint64(int64(int32(v>>32))), ok
	}
	low, high := uint64(0), m.count // the functions before low start at or before the address
	for low < high {
		middle := (low + high) / 2
		start, _, ok := pair(middle)
		if !ok {
			return 0, false
		}
		if start <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0, false
	}
	_, addr, ok = pair(low - 1)
	return addr, ok
}
