package unwind

// goTable is the table of a Go program by which its runtime unwinds: for each address of code, how far
// the stack pointer is below the frame of the caller. The layout is that since Go 1.20.
type goTable struct {
	at        uint64 // of the header
	text      uint64 // where the code starts
	quantum   uint64 // of instructions
	functions uint64 // the number of pairs: where a function starts, and the place of its data
	pairs     uint64
	distances uint64 // numbers by address, which the data of a function refers to
}

const (
	goVersion120 = 0xfffffff1
	maxGo        = 1 << 24 // functions

	// In the data of a function:
	goDistances = 16
	goFlags     = 41

	goTop     = 1 << 0 // it has no caller
	goWriteSP = 1 << 1 // it changes the stack pointer in a way that the table does not have

	// maxGoSteps bounds the numbers of a function that are read.
	maxGoSteps = 1 << 16
	// maxGoFrame bounds the size of a frame.
	maxGoFrame = 1 << 30
	// goModuleText is the place of the start of the code in the section .go.module.
	goModuleText = 22 * 8
)

// sections are the places of the sections that no header in memory names.
type sections struct {
	text, goTable, goModule uint64
	frame, frameEnd         uint64
}

// readGo reads the header of the table.
func readGo(p *pages, s *sections, bias uint64) *goTable {
	if s.goTable == 0 {
		return nil
	}
	g := &goTable{at: s.goTable + bias}
	c := cursor{from: p, addr: g.at, end: g.at + 8 + 8*8}
	version, _, quantum, size := c.number(4), c.number(2), c.byte(), c.byte()
	g.functions, _, g.text = c.number(8), c.number(8), c.number(8)
	c.skip(24)
	g.distances, g.pairs = g.at+c.number(8), g.at+c.number(8)
	g.quantum = uint64(quantum)
	if c.bad || version != goVersion120 || size != 8 || g.functions == 0 || g.functions > maxGo {
		return nil
	}
	if g.text == 0 && s.goModule != 0 { // since Go 1.26
		if first, ok := p.word(s.goModule + bias); ok && first == g.at {
			g.text, _ = p.word(s.goModule + bias + goModuleText)
		}
	}
	if g.text == 0 {
		g.text = s.text + bias
	}
	return g
}

// distance returns how far the stack pointer is below the CFA at an address: below the place of the
// return address, where calls put that on the stack. ok is false for code that is not Go's.
func (g *goTable) distance(p *pages, at uint64) (n uint64, flags uint8, ok bool) {
	if at < g.text {
		return 0, 0, false
	}
	from := at - g.text
	pair := func(i uint64) (start, data uint64, ok bool) {
		v, ok := p.word(g.pairs + 8*i)
		return v & 0xffffffff, v >> 32, ok
	}
	low, high := uint64(0), g.functions+1 // the last one is the end of the code
	for low < high {
		middle := (low + high) / 2
		start, _, ok := pair(middle)
		if !ok {
			return 0, 0, false
		}
		if start <= from {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || low > g.functions {
		return 0, 0, false
	}
	start, data, ok := pair(low - 1)
	if !ok {
		return 0, 0, false
	}
	c := cursor{from: p, addr: g.pairs + data, end: g.pairs + data + goFlags + 1}
	if c.number(4) != start { // the data is of another function
		return 0, 0, false
	}
	c.skip(goDistances - 4)
	list := c.number(4)
	c.skip(goFlags - goDistances - 4)
	flags = c.byte()
	if c.bad {
		return 0, 0, false
	}
	n, ok = g.number(p, g.distances+list, start, from)
	return n, flags, ok
}

// number returns the number that a list has for an address. The list is pairs of differences: of
// the number, and of the address up to which it counts.
func (g *goTable) number(p *pages, list, start, from uint64) (uint64, bool) {
	c := cursor{from: p, addr: list, end: list + maxGoSteps}
	value := int64(-1)
	for first := true; !c.bad; first = false {
		d := c.uleb()
		if d == 0 && !first {
			return 0, false
		}
		value += int64(d>>1) ^ -int64(d&1)
		if start += c.uleb() * g.quantum; start > from {
			return uint64(value), !c.bad && value >= 0 && value < maxGoFrame
		}
	}
	return 0, false
}
