package stream

// Open chunks belong to no writer. When all of them stay busy, since their writers do not
// run, another chunk replaces one of them, which is displaced then. A displaced chunk keeps
// its events, and serves again as soon as its writer has left it.
//
// While a displaced chunk is busy, no other writer can append to it. Beyond the size of the stream there are as many
// chunks as can be owned or open at once. So a displaced chunk takes one of the permits of owned ones:
// owned, open and displaced chunks together are never more than the stream has beside the promised room.

// displaced marks, above the number of a chunk plus one, a permit that a displaced chunk has.
const displaced = 1 << 63

// permitSlot returns the slot of the process that has a permit, by v, the permit's word. The bits above it are the number
// of the shard: each shard has a permit of its own, and another shard may take over a permit that this one has
// lost.
func permitSlot(v uint64) uint64 { return v >> 32 & (MaxSlots - 1) }

// displace finds a permit for the open chunk i, which writers do not find any more. It returns false
// if there is none.
func (m *Mem) displace(i int) bool {
	mine := displaced | uint64(i+1)
	for p := range m.Permits {
		if q := &m.h.permitTable[p]; m.vacant(p) && q.CompareAndSwap(0, mine) {
			return true
		}
	}
	// Take the chunk of an owner that is not in the middle of an event.
	for p := range m.Permits {
		q := &m.h.permitTable[p]
		v := q.Load()
		if v&displaced != 0 {
			continue
		}
		j := int(uint32(v)) - 1
		if j < 0 || j >= m.Chunks {
			continue // its owner is about to get one
		}
		c := ctl(m.at(j).ctl.Load())
		if c.slot() == permitSlot(v) && (c.state() == claiming || c.state() == owned && (c.busy() || !m.park(j, c))) {
			continue
		}
		if q.CompareAndSwap(v, mine) {
			return true
		}
	}
	return false
}

// vacant reports whether permit p is free, after it has closed a displaced chunk that had it.
func (m *Mem) vacant(p int) bool {
	q := &m.h.permitTable[p]
	v := q.Load()
	if v&displaced == 0 {
		return v == 0
	}
	i := int(uint32(v)) - 1
	if i >= 0 && i < m.Chunks && !m.closeDisplaced(i, true) {
		return false
	}
	q.CompareAndSwap(v, 0)
	return q.Load() == 0
}

// closeDisplaced closes chunk i if it is displaced and not busy. If it had a permit, other writers may adopt it.
// closeDisplaced returns false if it is busy.
func (m *Mem) closeDisplaced(i int, permitted bool) bool {
	for range closeTries {
		c := ctl(m.at(i).ctl.Load())
		// If writers find the chunk, it is not displaced any more, or it was not replaced after all. Seen in
		// this order: if they find it again later, and it gets newer events than its age says, it is
		// not in state c.
		if c.state() != open || m.registered(i) {
			return true
		}
		if c.busy() {
			return false
		}
		if m.closeFound(i, c, permitted) {
			return true
		}
	}
	return false
}

// closeFound closes a displaced chunk with word c. In an adopted chunk, old events live as long as
// new ones. Under LOOP they take room that newer events lack, so there must not be more such chunks
// than there are permits.
func (m *Mem) closeFound(i int, c ctl, permitted bool) bool {
	if m.Policy == Loop && !permitted {
		return m.closeAged(i, c, full)
	}
	return m.parkAged(i, c)
}

// leftDisplaced is called by a writer that has left the open chunk i and found another in its
// place.
func (m *Mem) leftDisplaced(i int) {
	for p := range m.Permits {
		if m.h.permitTable[p].Load() == displaced|uint64(i+1) {
			m.vacant(p)
			return
		}
	}
	m.closeDisplaced(i, false)
}

// closeAllDisplaced closes all displaced chunks that are not busy.
func (m *Mem) closeAllDisplaced() {
	for p := range m.Permits {
		if m.h.permitTable[p].Load()&displaced != 0 {
			m.vacant(p)
		}
	}
}

// unreachable reports whether chunk i is open without a writer, and writers do not find
// it.
func (m *Mem) unreachable(i int, c ctl) bool {
	return c.state() == open && !c.busy() && !m.registered(i)
}

// stuck reports whether chunk i is open and busy.
func (m *Mem) stuck(i int) bool {
	c := ctl(m.at(i).ctl.Load())
	return c.state() == open && c.busy()
}
