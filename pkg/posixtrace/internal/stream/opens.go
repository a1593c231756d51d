package stream

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Open chunks belong to no writer. When all of them stay busy, since their writers do not
// run, another chunk replaces one of them, which is put aside. A chunk aside keeps
// its events, and serves again as soon as its writer has left it.
//
// While it is busy no writer can use its room. Beyond the size of the stream there are as many
// chunks as can be owned or open at once. So a chunk aside takes one of the places of owned ones:
// owned, open and aside chunks together are never more than the stream has beside the promised room.

// aside marks, above the number of a chunk plus one, a place that a chunk aside has.
const aside = 1 << 63

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
		if c.slot() == v>>32 && (c.state() == claiming || c.state() == owned && (c.busy() || !m.leavePartial(j, c))) {
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
	// If writers find the chunk, it is not aside any more, or it was not replaced after all.
	if i >= 0 && i < m.Chunks && !m.registered(i) && !m.closeAside(i, true) {
		return false
	}
	q.CompareAndSwap(v, 0)
	return q.Load() == 0
}

// closeAside closes chunk i, which writers do not find, if it is open and not busy. If it had a
// place, other writers may adopt it. closeAside returns false if it is busy.
func (m *Mem) closeAside(i int, placed bool) bool {
	for range closeTries {
		c := ctl(m.at(i).ctl.Load())
		if c.state() != open {
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
	if !m.registered(i) {
		m.closeAside(i, false)
	}
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

// isOpenRef reports whether ref, from the header's table of open chunks, refers to one.
func (m *Mem) isOpenRef(ref uint64) bool { return ref != 0 && ref <= uint64(m.Chunks) }

// backoff is how a writer that looks for an open chunk makes way for other writers. It looks at the
// entries of the header's table in turn. A few tries are quick; then it gives the processor away
// between them; late, when each writer that runs has had its turn, it sleeps.
type backoff struct {
	opens    int
	index    int // of the next entry to look at, modulo opens
	try      int // a late pause is part of the same try
	claimAt  int // a claim that has failed is not tried again before this try
	inTheWay int // the last try at which another writer was in the way
	since    time.Time
	urgent   bool // late pauses took longer than patience
}

func newBackoff(m *Mem, slot uint64) backoff {
	return backoff{opens: m.Opens, index: int(slot), inTheWay: -1}
}

func (b *backoff) quick() int { return 4 * b.opens }
func (b *backoff) late() int  { return 63 * b.opens }
func (b *backoff) more() bool { return b.try < b.late()+4*b.opens }

func (b *backoff) next() {
	b.index++
	b.try++
}

// alone reports whether there is no writer to wait for: none was in the way at the last tries.
func (b *backoff) alone() bool { return b.try-b.inTheWay > b.opens }

// yield gives the processor away, unless the tries are quick.
func (b *backoff) yield() {
	if b.try >= b.quick() {
		runtime.Gosched()
	}
}

// wait is pause for another writer that is in the way.
func (b *backoff) wait() {
	b.inTheWay = b.try
	b.pause()
}

// pause lets others go on.
func (b *backoff) pause() {
	switch {
	case b.try < b.quick():
	case b.try < b.late() || b.urgent:
		runtime.Gosched()
	case b.since.IsZero():
		b.since = time.Now()
		b.try--
	default:
		time.Sleep(20 * time.Microsecond)
		b.urgent = time.Since(b.since) > patience
		b.try--
	}
}

// wantsOpen reports whether an entry of the table, seen as ref, should get another open chunk: it has
// none, or another writer that was about to put one there stands still, or its chunk has been busy
// for a while, since the writer does not run.
func (w *Writer) wantsOpen(ref uint64, b *backoff) bool {
	switch {
	case ref&reserved != 0:
		return b.urgent
	case !w.m.isOpenRef(ref):
		return true
	}
	return b.try >= b.late() && w.m.stuck(int(ref-1))
}

// supplyOpen puts another open chunk with room for need bytes into entry o, seen as ref. It returns
// the reference that the entry has now, and false if supplyOpen found no chunk.
//
// The entry is reserved first, so that several writers do not claim chunks for one entry.
func (w *Writer) supplyOpen(o *atomic.Uint64, ref uint64, need int, force bool, b *backoff) (uint64, bool) {
	m := w.m
	mine := reserved | w.slot
	if !o.CompareAndSwap(ref, mine) {
		return ref, false
	}
	if m.isOpenRef(ref) {
		if !m.putAside(int(ref-1)) && !b.urgent {
			// More writers stand still in the middle of an event than the stream has
			// room for beside its size. Most go on as soon as they get the
			// processor. If they do not, new events are worth more than old ones.
			o.CompareAndSwap(mine, ref)
			if b.since.IsZero() && !force && w.OnCrowded != nil {
				w.OnCrowded()
			}
			b.pause()
			return ref, false
		}
		m.date(int(ref - 1))
	}
	i, adopted, got := m.claim(w.slot, open, need)
	if !got {
		if ref&reserved != 0 {
			ref = 0
		}
		o.CompareAndSwap(mine, ref)
		b.claimAt = b.try + 16*b.opens
		return ref, false
	}
	if adopted == 0 {
		m.date(i) // writers do not find it yet, and it is not the oldest
		m.begin(i, 0, open, m.now())
	} else {
		m.at(i).joined.Store(m.now())
	}
	if !o.CompareAndSwap(mine, uint64(i+1)) {
		if c := ctl(m.at(i).ctl.Load()); c.state() == open && !c.busy() {
			m.leavePartial(i, c)
		}
	}
	return o.Load(), true
}
