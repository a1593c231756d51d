package chunk

import (
	"encoding/binary"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Nearly all records of a chunk are events of sites that are defined. The functions here decode
// runs of them without a call for each, and leave every other record, malformed ones included, to
// Next.

// at decodes the first bytes of the record at off. ok is false unless it is a whole event of a
// defined site.
func (c *Cursor) at(off int) (h uint64, num, end int, ok bool) {
	b := c.buf
	if off > len(b)-HeaderSize {
		return 0, 0, 0, false
	}
	h = binary.LittleEndian.Uint64(b[off:])
	num = int(h >> 48 &^ Truncated)
	end = off + HeaderSize + Align(int(uint16(h>>32)))
	return h, num, end, num < len(c.sites) && end <= len(b)
}

// Peek returns time and type of the next event, false if only Next can decode it.
func (c *Cursor) Peek() (tick uint64, id event.ID, ok bool) {
	h, num, _, ok := c.at(c.off)
	if !ok {
		return 0, 0, false
	}
	return c.base + uint64(uint32(h)), c.sites[num].ev, true
}

// Fill decodes the next events before limit into recs, with first also one that is not before
// limit, until only Next can decode the next one. It returns how many; over says that the next one
// is not before limit, and next is its time.
func (c *Cursor) Fill(recs []Record, first bool, limit uint64) (n int, next uint64, over bool) {
	for n < len(recs) {
		h, num, end, ok := c.at(c.off)
		if !ok {
			break
		}
		tick := c.base + uint64(uint32(h))
		if tick >= limit && !first {
			return n, tick, true
		}
		first = false
		r := &recs[n]
		s, data := &c.sites[num], c.off+HeaderSize
		size := data + int(uint16(h>>32))
		r.Tick = tick
		r.Addr, r.Event, r.PID, r.TID = s.addr, s.ev, s.pid, s.tid
		r.Truncated = h>>63 != 0
		r.Data = c.buf[data:size:size]
		r.Span, r.Parent, r.Maps = 0, 0, nil
		c.off = end
		n++
	}
	return n, 0, false
}

// run summarizes the events of one site.
type run struct {
	events      uint64 // Skim says only whether there are any
	bytes       uint64
	first, last uint64
}

// Count summarizes the events of one type.
type Count struct {
	Event         event.ID
	Events, Bytes uint64
	Min, Max      uint64 // times
}

// Add adds d, which is of the same type.
func (c *Count) Add(d *Count) {
	if c.Events == 0 {
		c.Min = d.Min
	}
	c.Events += d.Events
	c.Bytes += d.Bytes
	c.Min, c.Max = min(c.Min, d.Min), max(c.Max, d.Max)
}

func (s *site) count() Count {
	return Count{s.ev, s.run.events, s.run.bytes, s.run.first, s.run.last}
}

// Skim skips the next events as long as each is later than the one before, the first later than
// last, and Next is not needed. It returns how many there are and the time of the latest.
func (c *Cursor) Skim(last uint64) (n int, latest uint64) {
	b, off := c.buf, c.off
	for {
		h, num, end, ok := c.at(off)
		if !ok {
			break
		}
		tick := c.base + uint64(uint32(h))
		if tick <= last {
			break
		}
		c.sites[num].run.events = 1
		last = tick
		n++
		// The events that follow are often alike. Then the place of the next does not depend on what is
		// in this one, and the processor need not wait for one to find the other.
		size, like := end-off, h>>32
		for off = end; off <= len(b)-size; off += size {
			h := binary.LittleEndian.Uint64(b[off:])
			tick := c.base + uint64(uint32(h))
			if h>>32 != like || tick <= last {
				break
			}
			last = tick
			n++
		}
	}
	c.off = off
	return n, last
}

// Count skims the records and counts the events by type.
func (c *Cursor) Count(last uint64) (n int, latest uint64) {
	off := c.off
	for {
		h, num, end, ok := c.at(off)
		if !ok {
			break
		}
		tick := c.base + uint64(uint32(h))
		if tick <= last {
			break
		}
		r := &c.sites[num].run
		if r.events == 0 {
			r.first = tick
		}
		r.events++
		r.bytes += uint64(uint16(h >> 32))
		r.first, r.last = min(r.first, tick), max(r.last, tick)
		last, off = tick, end
		n++
	}
	c.off = off
	return n, last
}

// Met calls f for the events that Skim or Count has passed since Reset, for one event type maybe
// more than once. After Skim only the types are valid.
func (c *Cursor) Met(f func(*Count)) {
	for i := range c.past {
		f(&c.past[i])
	}
	for i := range c.sites {
		if s := &c.sites[i]; s.run.events > 0 {
			n := s.count()
			f(&n)
		}
	}
}
