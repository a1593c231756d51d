package stream

import "sync/atomic"

// A machine has fewer processors than a stream may have writers. Most writers wait for a processor, and
// their chunks and places with them. A writer that runs and has no place therefore takes over that
// of a writer that does not run, with its chunk, unless that writer stands still in the middle of an event.

// lookAgain is how many events a shard without a chunk of its own records in open chunks before it
// looks for a place again. A writer whose chunk is unchanged at two looks does not run, or
// records far less. The walk through the chunk that is taken over costs as much as some dozen events.
const lookAgain = 64

// count stores n in a counter that need not be exact: several goroutines may count at once.
func count(p *atomic.Uint64, n uint64) {
	if p.Load() != n {
		storeRelease(p, n)
	}
}

// crowded counts an event that shard s is about to record in an open chunk. It returns false if the
// shard should look for a place before.
func (s *shard) crowded() bool {
	n := s.waited.Load()
	if n == 0 || n >= lookAgain {
		return false
	}
	storeRelease(&s.waited, n+1)
	return true
}

// takeOver takes over the place of a writer that has not changed its chunk since the last call. It
// returns that chunk in state c, owned by w and busy. c is 0 if the chunk has no room for need bytes.
// took is false if there is no such place. The caller holds the shard's lock.
func (w *Writer) takeOver(s *shard, need int) (i int, c ctl, took bool) {
	m := w.m
	for n := range m.Places {
		p := (int(w.slot) + n) % m.Places
		q := &m.h.placed[p]
		v := q.Load()
		j := int(uint32(v)) - 1
		if v&aside != 0 || holderSlot(v) == w.slot || j < 0 || j >= m.Chunks {
			continue
		}
		c := ctl(m.at(j).ctl.Load())
		mine := c.slot() == holderSlot(v) && (c.state() == owned || c.state() == claiming)
		if !mine {
			c = 0 // the chunk was closed, and the writer has not needed another since
		}
		if sight := v<<32 ^ uint64(c); s.seen[p] != sight {
			s.seen[p] = sight
			continue
		}
		if mine && (c.state() == claiming || c.busy()) {
			continue
		}
		if i, c, took := w.takeFrom(s, p, v, c, need); took {
			return i, c, true
		}
	}
	return 0, 0, false
}

// takeFrom takes place p, seen as v, with its chunk in state c, or without one if c is 0.
func (w *Writer) takeFrom(s *shard, p int, v uint64, c ctl, need int) (i int, taken ctl, took bool) {
	m := w.m
	q := &m.h.placed[p]
	if c == 0 {
		if !q.CompareAndSwap(v, s.holder<<32) {
			return 0, 0, false
		}
		s.place.Store(uint32(p + 1))
		return 0, 0, true
	}
	i = int(uint32(v)) - 1
	d := m.at(i)
	if taken, took = d.takeOver(c, w.slot); !took {
		return 0, 0, false
	}
	if !q.CompareAndSwap(v, s.holder<<32|uint64(i+1)) {
		m.leavePartial(i, taken) // another writer was faster, or the owner has a new chunk
		return 0, 0, false
	}
	s.place.Store(uint32(p + 1))
	if c.off()+need > w.chunk {
		m.leavePartial(i, taken)
		return 0, 0, true
	}
	last, sites := m.ending(i, taken)
	d.last.Store(last)
	d.ends(c, sites)
	return i, taken, true
}
