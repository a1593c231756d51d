package stream

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// A writer puts a note on the mapping of an address before the first event with such an address. It is
// asked for one only where it defines a site, so other events cost nothing. Each chunk has notes of its
// own, whatever becomes of the other chunks. Where all chunks go to a log that keeps them, one note of
// each mapping will do. A note that finds no room is left out.

// Mapping is a part of the address space of this process.
type Mapping struct {
	Start, End uint64
	Data       []byte // of an event proc.map
}

// MaxMaps is how many mappings of a process have notes.
const MaxMaps = 64

// Maps are mappings of this process, in any order. They never lose their places in the list: one that is
// gone is empty.
type Maps struct{ list atomic.Pointer[[]Mapping] }

// List returns the mappings.
func (t *Maps) List() []Mapping {
	if l := t.list.Load(); l != nil {
		return *l
	}
	return nil
}

// Set replaces the list by a longer one, at most MaxMaps long. Neither changes any more.
func (t *Maps) Set(list []Mapping) { t.list.Store(&list) }

// find returns the mapping with an address and its place, nil if there is none.
func (t *Maps) find(addr uint64) (i int, p *Mapping) {
	list := t.List()
	for i := range list {
		if p := &list[i]; p.Start <= addr && addr < p.End {
			return i, p
		}
	}
	return 0, nil
}

// NoteMaps makes the writer, which has recorded nothing yet and records no events of other processes,
// put notes on mappings before events.
func (w *Writer) NoteMaps(t *Maps) {
	w.maps = t
	w.mapsOnce = w.m.HasLog && w.m.Policy != Loop && w.m.LogFullPolicy != Loop
	for i := range w.mask + 1 {
		w.forgetMaps(w.shard(i))
	}
}

// forgetMaps prepares a shard for another chunk.
func (w *Writer) forgetMaps(s *shard) {
	if w.maps != nil {
		s.from, s.span, s.noted = 0, 0, 0
	}
}

// noteMap writes a note on the mapping of an address to p in the chunk of a shard, which is busy. It
// returns the size, 0 if there is no note to write or not enough room.
func (w *Writer) noteMap(s *shard, d *desc, p unsafe.Pointer, room int, addr uint64) int {
	if w.maps == nil {
		s.from, s.span = 0, math.MaxUint64
		return 0
	}
	i, q := w.maps.find(addr)
	if q == nil {
		s.from, s.span = addr, 1
		return 0
	}
	s.from, s.span = q.Start, q.End-q.Start
	if s.noted>>i&1 != 0 || !w.mayNote(d, i, len(q.Data), room) {
		return 0
	}
	s.noted |= 1 << i
	return w.writeMap(p, q)
}

// noteInOpen notes a mapping in open chunk i, which an entry of the table has.
func (w *Writer) noteInOpen(entry, i int, c ctl, p unsafe.Pointer, room int, addr uint64) int {
	n, q := w.maps.find(addr)
	if q == nil {
		return 0
	}
	// Which chunk it was, less the upper half of a number that no other open chunk has, and which
	// mappings have a note there. Of those behind, each event has one.
	const openMaps = 24
	o := &w.openNoted[entry]
	seen, which := o.Load(), c.gen()<<44|uint64(i)<<openMaps&(1<<44-1)
	if seen>>openMaps != which>>openMaps {
		seen = which
	}
	if n < openMaps && seen>>n&1 != 0 || !w.mayNote(w.m.at(i), n, len(q.Data), room) {
		return 0
	}
	if n < openMaps {
		o.Store(seen | 1<<n)
	}
	return w.writeMap(p, q)
}

// mayNote reports whether a note on mapping i, with n bytes of data, may take some of the room of a
// chunk, which is busy. It then counts the note.
func (w *Writer) mayNote(d *desc, i, n, room int) bool {
	size, used := chunk.MapSize(n), d.notes.Load()
	if i >= MaxMaps || size > room || w.m.rejects(event.ProcMap) {
		return false
	}
	if w.m.Policy != Flush && used+uint64(size) > uint64(noteRoom(w.chunk)) {
		return false // the room is promised to events
	}
	if w.mapsOnce {
		if at := w.m.h.clears.Load(); w.notedAt.Swap(at) != at {
			w.noted.Store(0)
		}
		if w.noted.Or(1<<i)>>i&1 != 0 {
			return false
		}
	}
	d.notes.Store(used + uint64(size))
	return true
}

// writeMap writes a note and returns its size.
func (w *Writer) writeMap(p unsafe.Pointer, q *Mapping) int {
	n := len(q.Data)
	store64(p, chunk.Header(chunk.MapNote, chunk.MapHead-chunk.HeaderSize+n, chunk.KindPad))
	store64(unsafe.Add(p, 8), uint64(w.pid))
	copyIn(unsafe.Add(p, chunk.MapHead), q.Data)
	return chunk.MapSize(n)
}
