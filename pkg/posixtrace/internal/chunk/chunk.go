// Package chunk defines the encoding of events in a chunk. A writer owns chunks in a stream, the log
// stores them unchanged, and a reader decodes them.
//
// A chunk is a run of records, each a multiple of eight bytes, little-endian:
//
//	 0       4     6     8
//	+-------+-----+-----+----------------+
//	| delta | len | site| data ... pad   |     one event
//	+-------+-----+-----+----------------+
//
// delta is the time in ticks since the chunk's base, len the number of data
// bytes (the pad to eight bytes is not counted), site the number of a
// definition {event type, thread, process, address} earlier in the same chunk; its top
// bit says that the data was truncated when it was recorded. Five site numbers are not
// sites but mark records of another kind, below.
package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Site numbers that are kinds of records.
const (
	// KindJoint starts another chunk, in a log that has joined several: site numbers start
	// again. Its data is the number of the chunk u32, generation u32 and base u64, or nothing
	// if marks of the trace system follow. No chunk of a stream has it.
	KindJoint = 0x7ffb
	// KindPad is a record that readers skip: len bytes without meaning. One whose delta is
	// SpanNote is a note on the following event: the key of its span u64 and, with len 16, that
	// of the enclosing span u64. One whose delta is MapNote is a note on a mapping that is there
	// by the time of the following event: the process u32, zero u32, and the data of an event
	// proc.map. A reader that does not know notes skips them.
	KindPad = 0x7ffc
	// KindFull is an event with all its members: tick u64, type u32, pid u32, tid u32, zero
	// u32, address u64, then len bytes of data.
	KindFull = 0x7ffd
	// KindBase sets the base of the following deltas: tick u64.
	KindBase = 0x7ffe
	// KindSite defines the next site number of this chunk (delta repeats it):
	// type u32, tid u32, address u64, pid u32, zero u32.
	KindSite = 0x7fff

	// SpanNote is the delta of a pad that is a note: "span".
	SpanNote = 0x6e617073
	// MapNote is the delta of a pad that is a note on a mapping: "maps".
	MapNote = 0x7370616d

	// MaxSites is how many sites one chunk can define.
	MaxSites = 0x7ff0
	// Truncated is the bit of the site field that says TRUNCATED_RECORD.
	Truncated = 0x8000
)

// Sizes in bytes.
const (
	HeaderSize = 8
	SiteSize   = HeaderSize + 24 // a site definition
	BaseSize   = HeaderSize + 8  // a new base
	JointSize  = HeaderSize + 16 // the start of another chunk
	FullSize   = HeaderSize + 32 // a full record, without its data
	NoteSize   = HeaderSize + 16 // a note on a span, at most
	MapHead    = HeaderSize + 8  // a note on a mapping, without the data
	// Overhead is the most that an event may need besides its data.
	Overhead = HeaderSize + SiteSize + BaseSize
	// MaxData is the largest data that a record can have.
	MaxData = 32 << 10
	// MaxSize is the largest chunk.
	MaxSize = 128 << 10
)

// Align rounds n up to the granularity of records.
func Align(n int) int { return (n + 7) &^ 7 }

// EventSize is the most that one event with n bytes of data takes in a chunk.
func EventSize(n int) int { return Overhead + Align(n) }

// Header packs the first eight bytes of a record.
func Header(delta uint32, n int, site uint16) uint64 {
	return uint64(delta) | uint64(uint16(n))<<32 | uint64(site)<<48
}

// Record is one decoded event. Data points into the chunk.
type Record struct {
	Tick      uint64 // time in ticks of the stream's clock
	Addr      uint64
	Event     event.ID
	PID       uint32
	TID       uint32
	Truncated bool
	Data      []byte
	Span      uint64 // key of the span that the event begins or ends, 0 for none
	Parent    uint64 // and of the span around it
	Maps      *Map   // notes on mappings before it, the first one first (Cursor.Maps)
}

// Map is a note on a mapping of a process. Data, as of an event proc.map, points into the chunk.
type Map struct {
	PID  uint32
	Data []byte
	Next *Map
}

type site struct {
	addr uint64
	ev   event.ID
	tid  uint32
	pid  uint32
	run  run // what Skim and Count have met
}

// Cursor decodes the events of one chunk in the order in which they were written. It trusts nothing
// in the chunk: at a malformed record it stops with an error that has the offset.
type Cursor struct {
	buf   []byte
	off   int
	base  uint64
	sites []site
	joint bool    // other chunks may follow
	past  []Count // what Skim and Count have met in the chunks before
	maps  bool    // it has met a note on a mapping

	// Maps makes Next set Record.Maps.
	Maps bool
}

// Reset points the cursor at the start of a chunk whose first base is base.
func (c *Cursor) Reset(buf []byte, base uint64) {
	c.buf, c.off, c.base, c.sites, c.joint, c.past = buf, 0, base, c.sites[:0], false, c.past[:0]
	c.maps = false
}

// ResetJoint points the cursor at the start of chunks that a log has joined.
func (c *Cursor) ResetJoint(buf []byte) {
	c.Reset(buf, 0)
	c.joint = true
}

// Sites is how many sites have been defined so far.
func (c *Cursor) Sites() int { return len(c.sites) }

// HasMaps reports whether there was a note on a mapping so far.
func (c *Cursor) HasMaps() bool { return c.maps }

// Extend makes the cursor continue in the same chunk, which has grown to buf.
func (c *Cursor) Extend(buf []byte) { c.buf = buf }

// Offset is the offset of the next record.
func (c *Cursor) Offset() int { return c.off }

// ErrMalformed is wrapped by every error of Cursor.Next.
var ErrMalformed = errors.New("malformed record")

func (c *Cursor) bad(what string) error {
	return fmt.Errorf("record at %d: %s: %w", c.off, what, ErrMalformed)
}

// Next decodes the next event into r. It returns false at the end of the chunk.
func (c *Cursor) Next(r *Record) (bool, error) {
	r.Span, r.Parent, r.Maps = 0, 0, nil
	last := &r.Maps
	for {
		b := c.buf[c.off:]
		if len(b) < HeaderSize {
			if len(b) != 0 {
				return false, c.bad("cut short")
			}
			return false, nil
		}
		h := binary.LittleEndian.Uint64(b)
		n := int(uint16(h >> 32))
		num := uint16(h>>48) &^ Truncated
		b = b[HeaderSize:]
		if int(num) < len(c.sites) {
			size := Align(n)
			if size > len(b) {
				return false, c.bad("data beyond the end")
			}
			s := &c.sites[num]
			r.Tick = c.base + uint64(uint32(h))
			r.Addr, r.Event, r.PID, r.TID = s.addr, s.ev, s.pid, s.tid
			r.Truncated = h>>63 != 0
			r.Data = b[:n:n]
			c.off += HeaderSize + size
			return true, nil
		}
		switch num {
		case KindSite:
			if len(b) < SiteSize-HeaderSize || n != SiteSize-HeaderSize {
				return false, c.bad("site definition of wrong size")
			}
			if int(uint32(h)) != len(c.sites) || len(c.sites) >= MaxSites {
				return false, c.bad("site out of order")
			}
			s := site{
				ev:   event.ID(binary.LittleEndian.Uint32(b)),
				tid:  binary.LittleEndian.Uint32(b[4:]),
				addr: binary.LittleEndian.Uint64(b[8:]),
				pid:  binary.LittleEndian.Uint32(b[16:]),
			}
			if !s.ev.Valid() {
				return false, c.bad("no such event type")
			}
			c.sites = append(c.sites, s)
			c.off += SiteSize
		case KindBase:
			if len(b) < 8 || n != 8 {
				return false, c.bad("base of wrong size")
			}
			c.base = binary.LittleEndian.Uint64(b)
			c.off += BaseSize
		case KindJoint:
			if !c.joint || n != 0 && n != JointSize-HeaderSize || n > len(b) {
				return false, c.bad("another chunk begins where it must not")
			}
			for i := range c.sites {
				if s := &c.sites[i]; s.run.events > 0 {
					c.past = append(c.past, s.count())
				}
			}
			c.sites = c.sites[:0]
			r.Span, r.Parent, r.Maps = 0, 0, nil
			last = &r.Maps
			if n > 0 {
				c.base = binary.LittleEndian.Uint64(b[8:])
			}
			c.off += HeaderSize + n
		case KindPad:
			if Align(n) > len(b) {
				return false, c.bad("pad beyond the end")
			}
			if IsMap(h) && n >= MapHead-HeaderSize {
				if c.maps = true; c.Maps {
					*last = &Map{PID: binary.LittleEndian.Uint32(b), Data: b[8:n:n]}
					last = &(*last).Next
				}
			}
			if uint32(h) == SpanNote && (n == 8 || n == 16) {
				r.Span, r.Parent = binary.LittleEndian.Uint64(b), 0
				if n == 16 {
					r.Parent = binary.LittleEndian.Uint64(b[8:])
				}
			}
			c.off += HeaderSize + Align(n)
		case KindFull:
			const fixed = FullSize - HeaderSize
			if len(b) < fixed || Align(n) > len(b)-fixed {
				return false, c.bad("data beyond the end")
			}
			r.Tick = binary.LittleEndian.Uint64(b)
			r.Event = event.ID(binary.LittleEndian.Uint32(b[8:]))
			r.PID = binary.LittleEndian.Uint32(b[12:])
			r.TID = binary.LittleEndian.Uint32(b[16:])
			r.Addr = binary.LittleEndian.Uint64(b[24:])
			r.Truncated = h>>63 != 0
			r.Data = b[fixed : fixed+n : fixed+n]
			if !r.Event.Valid() {
				return false, c.bad("no such event type")
			}
			c.off += FullSize + Align(n)
			return true, nil
		default:
			return false, c.bad("undefined site")
		}
	}
}

// MapSize is the size of a note on a mapping whose data has n bytes.
func MapSize(n int) int { return MapHead + Align(n) }

// AppendMap appends a note on a mapping. An event must follow.
func AppendMap(b []byte, pid uint32, data []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, Header(MapNote, MapHead-HeaderSize+len(data), KindPad))
	b = binary.LittleEndian.AppendUint64(b, uint64(pid))
	b = append(b, data...)
	for len(b)&7 != 0 {
		b = append(b, 0)
	}
	return b
}

// IsMap reports whether a record is a note on a mapping, from its first eight bytes.
func IsMap(h uint64) bool { return uint32(h) == MapNote && uint16(h>>48)&^Truncated == KindPad }

// AppendNote appends the note of an event that belongs to a span. The event must follow.
func AppendNote(b []byte, r *Record) []byte {
	if r.Span == 0 {
		return b
	}
	if r.Parent == 0 {
		b = binary.LittleEndian.AppendUint64(b, Header(SpanNote, 8, KindPad))
		return binary.LittleEndian.AppendUint64(b, r.Span)
	}
	b = binary.LittleEndian.AppendUint64(b, Header(SpanNote, 16, KindPad))
	b = binary.LittleEndian.AppendUint64(b, r.Span)
	return binary.LittleEndian.AppendUint64(b, r.Parent)
}

// AppendFull appends a full record.
func AppendFull(b []byte, r *Record) []byte {
	s := uint16(KindFull)
	if r.Truncated {
		s |= Truncated
	}
	b = binary.LittleEndian.AppendUint64(b, Header(0, len(r.Data), s))
	b = binary.LittleEndian.AppendUint64(b, r.Tick)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Event))
	b = binary.LittleEndian.AppendUint32(b, r.PID)
	b = binary.LittleEndian.AppendUint32(b, r.TID)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, r.Addr)
	b = append(b, r.Data...)
	for len(b)&7 != 0 {
		b = append(b, 0)
	}
	return b
}

// AppendSite appends the definition of site number num.
func AppendSite(b []byte, num int, r *Record) []byte {
	b = binary.LittleEndian.AppendUint64(b, Header(uint32(num), SiteSize-HeaderSize, KindSite))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Event))
	b = binary.LittleEndian.AppendUint32(b, r.TID)
	b = binary.LittleEndian.AppendUint64(b, r.Addr)
	b = binary.LittleEndian.AppendUint32(b, r.PID)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// AppendBase appends a new base.
func AppendBase(b []byte, tick uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, Header(0, 8, KindBase))
	return binary.LittleEndian.AppendUint64(b, tick)
}

// AppendJoint appends the start of another chunk.
func AppendJoint(b []byte, num, gen uint32, base uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, Header(0, JointSize-HeaderSize, KindJoint))
	b = binary.LittleEndian.AppendUint32(b, num)
	b = binary.LittleEndian.AppendUint32(b, gen)
	return binary.LittleEndian.AppendUint64(b, base)
}

// AppendMarksJoint appends the start of marks of the trace system, all of them full records.
func AppendMarksJoint(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(b, Header(0, 0, KindJoint))
}

// AppendEvent appends an event of a defined site.
func AppendEvent(b []byte, delta uint32, num int, truncated bool, data []byte) []byte {
	s := uint16(num)
	if truncated {
		s |= Truncated
	}
	b = binary.LittleEndian.AppendUint64(b, Header(delta, len(data), s))
	b = append(b, data...)
	for len(b)&7 != 0 {
		b = append(b, 0)
	}
	return b
}
