package stream

import "sync/atomic"

// A machine has fewer processors than a stream may have writers. Most writers wait for a processor, and
// their chunks and permits with them. A writer that runs and has no permit therefore takes over that
// of a writer that does not run, with its chunk, unless that writer is stopped in the middle of an event.

// lookAgain is how many events a shard without a chunk of its own records in open chunks before it
// looks for a permit again. A writer whose chunk is unchanged at two looks does not run, or
// records far less. The walk through the chunk that is taken over costs as much as some dozen events.
const lookAgain = 64

// storeCount stores n in a counter that need not be exact: several goroutines may count at once.
func storeCount(p *atomic.Uint64, n uint64) {
	if p.Load() != n {
		storeRelease(p, n)
	}
}

// stillCrowded counts an event that shard s is about to record in an open chunk. It returns false if the
// shard should look for a permit before.
func (s *shard) stillCrowded() bool {
	n := s.waited.Load()
	if n == 0 || n >= lookAgain {
		return false
	}
	storeRelease(&s.waited, n+1)
	return true
}

// takeOver takes over the permit of a writer that has not changed its chunk since the last call. It
// returns that chunk in state c, owned by w and busy. c is 0 if the chunk has no room for need bytes.
// took is false if there is no such permit. The caller holds the shard's lock.
func (w *Writer) takeOver(s *shard, need int) (i int, c ctl, took bool) {
	m := w.m
	for n := range m.Permits {
		p := (int(w.slot) + n) % m.Permits
		q := &m.h.permitTable[p]
		v := q.Load()
		j := int(uint32(v)) - 1
		if v&displaced != 0 || permitSlot(v) == w.slot || j < 0 || j >= m.Chunks {
			continue
		}
		c := ctl(m.at(j).ctl.Load())
		mine := c.slot() == permitSlot(v) && (c.state() == owned || c.state() == claiming)
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

// takeFrom takes permit p, whose word is v, with its chunk in state c, or without one if c is 0.
func (w *Writer) takeFrom(s *shard, p int, v uint64, c ctl, need int) (i int, taken ctl, took bool) {
	m := w.m
	q := &m.h.permitTable[p]
	if c == 0 {
		if !q.CompareAndSwap(v, s.id<<32) {
			return 0, 0, false
		}
		s.permit.Store(uint32(p + 1))
		return 0, 0, true
	}
	i = int(uint32(v)) - 1
	d := m.at(i)
	if taken, took = d.takeOver(c, w.slot); !took {
		return 0, 0, false
	}
	if !q.CompareAndSwap(v, s.id<<32|uint64(i+1)) {
		m.park(i, taken) // another writer was faster, or the owner has a new chunk
		return 0, 0, false
	}
	s.permit.Store(uint32(p + 1))
	if c.off()+need > w.chunk {
		m.park(i, taken)
		return 0, 0, true
	}
	last, sites := m.findEnd(i, taken)
	d.last.Store(last)
	d.noteEnd(c, sites)
	return i, taken, true
}
