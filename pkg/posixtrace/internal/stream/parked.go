package stream

// Open chunks belong to no writer. When all of them stay busy, since their writers do not
// run, another chunk replaces one of them, which is put aside. A chunk aside keeps
// its events, and serves again as soon as its writer has left it.
//
// While a chunk aside is busy, no other writer can append to it. Beyond the size of the stream there are as many
// chunks as can be owned or open at once. So a chunk aside takes one of the places of owned ones:
// owned, open and aside chunks together are never more than the stream has beside the promised room.

// aside marks, above the number of a chunk plus one, a place that a chunk aside has.
const aside = 1 << 63

// holderSlot returns the slot of the process that has a place, seen as v. The bits above it are the number
// of the shard: each shard has a place of its own, and another shard may take over a place that this one has
// lost.
func holderSlot(v uint64) uint64 { return v >> 32 & (MaxSlots - 1) }

// putAside finds a place for the open chunk i, which writers do not find any more. It returns false
// if there is none.
func (m *Mem) putAside(i int) bool {
	mine := aside | uint64(i+1)
	for p := range m.Places {
		if q := &m.h.placed[p]; m.vacant(p) && q.CompareAndSwap(0, mine) {
			return true
		}
	}
	// Take the chunk of an owner that is not in the middle of an event.
	for p := range m.Places {
		q := &m.h.placed[p]
		v := q.Load()
		if v&aside != 0 {
			continue
		}
		j := int(uint32(v)) - 1
		if j < 0 || j >= m.Chunks {
			continue // its owner is about to get one
		}
		c := ctl(m.at(j).ctl.Load())
		if c.slot() == holderSlot(v) && (c.state() == claiming || c.state() == owned && (c.busy() || !m.leavePartial(j, c))) {
			continue
		}
		if q.CompareAndSwap(v, mine) {
			return true
		}
	}
	return false
}

// vacant reports whether place p is free, after it has closed a chunk aside that had it.
func (m *Mem) vacant(p int) bool {
	q := &m.h.placed[p]
	v := q.Load()
	if v&aside == 0 {
		return v == 0
	}
	i := int(uint32(v)) - 1
	if i >= 0 && i < m.Chunks && !m.closeAside(i, true) {
		return false
	}
	q.CompareAndSwap(v, 0)
	return q.Load() == 0
}

// closeAside closes chunk i if it is aside and not busy. If it had a place, other writers may adopt it.
// closeAside returns false if it is busy.
func (m *Mem) closeAside(i int, placed bool) bool {
	for range closeTries {
		c := ctl(m.at(i).ctl.Load())
		// If writers find the chunk, it is not aside any more, or it was not replaced after all. Seen in
		// this order: if they find it again later, and it gets newer events than its age says, it is
		// not in state c.
		if c.state() != open || m.registered(i) {
			return true
		}
		if c.busy() {
			return false
		}
		if m.closeFound(i, c, placed) {
			return true
		}
	}
	return false
}

// closeFound is closeAside for a chunk seen as c. In an adopted chunk, old events live as long as
// new ones. Under LOOP they take room that newer events lack, so there must not be more such chunks
// than there are places.
func (m *Mem) closeFound(i int, c ctl, placed bool) bool {
	if m.Policy == Loop && !placed {
		return m.leaveAged(i, c, full)
	}
	return m.leavePartialAged(i, c)
}

// backFrom is called by a writer that has left the open chunk i and found another in its
// place.
func (m *Mem) backFrom(i int) {
	for p := range m.Places {
		if m.h.placed[p].Load() == aside|uint64(i+1) {
			m.vacant(p)
			return
		}
	}
	m.closeAside(i, false)
}

// closeAllAside closes all chunks aside that are not busy.
func (m *Mem) closeAllAside() {
	for p := range m.Places {
		if m.h.placed[p].Load()&aside != 0 {
			m.vacant(p)
		}
	}
}

// unreachable reports whether chunk i, seen as c, is open without a writer, and writers do not find
// it.
func (m *Mem) unreachable(i int, c ctl) bool {
	return c.state() == open && !c.busy() && !m.registered(i)
}

// stuck reports whether chunk i is open and busy.
func (m *Mem) stuck(i int) bool {
	c := ctl(m.at(i).ctl.Load())
	return c.state() == open && c.busy()
}
