package unwind

import (
	"encoding/binary"
	"math/bits"
)

// Memory reads memory of the process at an address, and returns how many bytes it could read.
type Memory func(addr uint64, b []byte) int

const (
	pageSize = 4096
	// keptPages is how many pages a walk keeps at a time, and maxPages how many it reads at most.
	keptPages = 32
	maxPages  = 4096
	// maxWork bounds the bytes that a walk decodes. What costs more than a byte counts as several.
	maxWork = 1 << 22
)

// pages reads memory page by page, and keeps some of the pages for the time of a walk: other threads
// of the process may run, and the next walk finds another stack.
type pages struct {
	read Memory
	walk uint64 // a count of walks
	left int    // how many more pages this one may read
	work int    // and how many more bytes it may decode
	kept [keptPages]page
}

type page struct {
	walk uint64
	addr uint64
	size int
	data [pageSize]byte
}

func (p *pages) begin() {
	p.walk++
	p.left, p.work = maxPages, maxWork
}

// at returns the rest of the page that has an address, as far as it can be read.
func (p *pages) at(addr uint64) []byte {
	base := addr &^ (pageSize - 1)
	k := &p.kept[(addr/pageSize)%keptPages]
	if k.walk != p.walk || k.addr != base {
		if p.left--; p.left < 0 {
			return nil
		}
		k.walk, k.addr = p.walk, base
		k.size = min(max(0, p.read(base, k.data[:])), pageSize)
	}
	return k.data[:k.size][min(int(addr-base), k.size):]
}

// spend reports whether the walk may still do some work.
func (p *pages) spend(n int) bool {
	p.work -= n
	return p.work >= 0
}

// spent reports whether the walk has reached a bound, and so has not read all that it needed.
func (p *pages) spent() bool { return p.left < 0 || p.work < 0 }

// fill reads len(b) bytes, and reports whether it could.
func (p *pages) fill(addr uint64, b []byte) bool {
	for len(b) > 0 {
		n := copy(b, p.at(addr))
		if n == 0 {
			return false
		}
		b, addr = b[n:], addr+uint64(n)
	}
	return true
}

func (p *pages) word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := p.fill(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

// cursor reads numbers one after the other.
type cursor struct {
	from *pages
	addr uint64
	end  uint64 // it reads nothing from here on
	bad  bool   // it was asked for more than there is
}

func (c *cursor) byte() uint8 {
	if c.bad || c.addr >= c.end || !c.from.spend(1) {
		c.bad = true
		return 0
	}
	b := c.from.at(c.addr)
	if len(b) == 0 {
		c.bad = true
		return 0
	}
	c.addr++
	return b[0]
}

// number reads a number of size bytes.
func (c *cursor) number(size int) (v uint64) {
	for i := range size {
		v |= uint64(c.byte()) << (8 * i)
	}
	return v
}

func (c *cursor) uleb() (v uint64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.bad = true
	return 0
}

func (c *cursor) sleb() (v int64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.bad = true
	return 0
}

// Encodings of pointers in CFI: how many bytes, and what they are relative to.
const (
	encAbsolute = 0x00
	encUleb     = 0x01
	encU2       = 0x02
	encU4       = 0x03
	encU8       = 0x04
	encSleb     = 0x09
	encS2       = 0x0a
	encS4       = 0x0b
	encS8       = 0x0c

	encPC   = 0x10 // to the place of the pointer
	encData = 0x30 // to the start of .eh_frame_hdr
	encOmit = 0xff
)

// pointer reads a pointer.
func (c *cursor) pointer(enc uint8, data uint64) uint64 {
	at := c.addr
	v := c.value(enc)
	switch enc & 0xf0 {
	case 0:
	case encPC:
		v += at
	case encData:
		v += data
	default: // indirect, or relative to what is not known here
		c.bad = true
	}
	return v
}

// value reads the number of a pointer, as the size of a function has it.
func (c *cursor) value(enc uint8) uint64 {
	switch enc & 0x0f {
	case encAbsolute, encU8, encS8:
		return c.number(8)
	case encUleb:
		return c.uleb()
	case encSleb:
		return uint64(c.sleb())
	case encU2:
		return c.number(2)
	case encU4:
		return c.number(4)
	case encS2:
		return uint64(int64(int16(c.number(2))))
	case encS4:
		return uint64(int64(int32(c.number(4))))
	}
	c.bad = true
	return 0
}

// skip moves on by n bytes.
func (c *cursor) skip(n uint64) {
	if n > c.end-min(c.addr, c.end) {
		c.bad = true
		return
	}
	c.addr += n
}

// part returns a cursor for the next n bytes, and moves on behind them.
func (c *cursor) part(n uint64) cursor {
	p := *c
	if c.skip(n); c.bad {
		p.bad = true
		return p
	}
	p.end = p.addr + n
	return p
}

// plus adds, and reports whether the sum is an address.
func plus(a, b uint64) (uint64, bool) {
	s, carry := bits.Add64(a, b, 0)
	return s, carry == 0
}
