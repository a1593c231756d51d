package stream

import (
	"encoding/binary"
	"math/bits"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

const noAge = ^uint64(0)

// claim takes a chunk for slot and leaves it in state claiming: a free one, or
// under LOOP the full one that was claimed longest ago. Of one writer that is
// always its oldest. It returns false when there is none.
func (m *Mem) claim(slot uint64) (int, bool) {
	for {
		for w := range m.freeMap {
			for b := m.freeMap[w].Load(); b != 0; b &= b - 1 {
				i := w<<6 + bits.TrailingZeros64(b)
				if i >= m.Chunks {
					break
				}
				if m.take(i, slot, free) {
					return i, true
				}
			}
		}
		if m.Policy != Loop {
			// The map may lag behind a process killed between the two stores.
			for i := range m.Chunks {
				if ctl(m.at(i).ctl.Load()).state() == free && m.take(i, slot, free) {
					return i, true
				}
			}
			return 0, false
		}
		best, age := -1, noAge
		for i := range m.ages {
			if a := m.ages[i].Load(); a < age {
				best, age = i, a
			}
		}
		if best < 0 {
			for i := range m.Chunks {
				if ctl(m.at(i).ctl.Load()).state() == full {
					best = i
					break
				}
			}
			if best < 0 {
				return 0, false
			}
		}
		if m.take(best, slot, full) {
			m.h.loopFull.Store(1)
			return best, true
		}
		m.ages[best].CompareAndSwap(age, noAge)
	}
}

// take moves chunk i from state st to claiming, accounts for the events that it
// still held, and empties it.
func (m *Mem) take(i int, slot uint64, st chunkState) bool {
	d := m.at(i)
	c := ctl(d.ctl.Load())
	if c.state() != st || c.busy() || !d.ctl.CompareAndSwap(uint64(c), uint64(c.with(slot, claiming))) {
		if st == free && c.state() != free {
			m.freeMap[i>>6].And(^(uint64(1) << (i & 63)))
		}
		return false
	}
	m.freeMap[i>>6].And(^(uint64(1) << (i & 63)))
	m.ages[i].Store(noAge)
	m.empty(i, c)
	return true
}

// empty accounts for the unread events of chunk i, which is in state claiming
// and was in state c, and gives it its next generation. It may be run again by
// whoever recovers a chunk whose claimer was killed: each step is done once.
func (m *Mem) empty(i int, c ctl) {
	d := m.at(i)
	next := (c.gen() + 1) & genMask
	if d.lost.Load()>>genShift != next {
		// From here on a reader can no longer consume what is counted as lost.
		r := readWord(d.read.Load())
		for !r.frozen() && r.gen() == c.gen() && !d.read.CompareAndSwap(uint64(r), uint64(r)|frozenBit) {
			r = readWord(d.read.Load())
		}
		done := 0
		if r.gen() == c.gen() {
			done = min(r.count(), c.count())
		}
		total := d.lost.Load() & lossMask
		if n := c.count() - done; n > 0 {
			first, last := span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), done, d.last.Load())
			if total == d.lostSeen.Load() {
				d.lostFirst.Store(first)
			}
			d.lostLast.Store(last)
			m.h.overrun.Store(1)
			total += uint64(n)
		}
		d.lost.Store(next<<genShift | total&lossMask)
	}
	d.read.Store(uint64(makeRead(next)))
}

// span returns the ticks of event number skip and of the last one of a chunk.
// The latter is known if known is not 0; that saves walking through.
func span(b []byte, base uint64, skip int, known uint64) (first, last uint64) {
	first, last = base, base
	for len(b) >= chunk.HeaderSize {
		h := le64(b)
		n, num := int(uint16(h>>32)), uint16(h>>48)&^chunk.Truncated
		size := chunk.HeaderSize + chunk.Align(n)
		tick := uint64(0)
		switch num {
		case chunk.KindSite, chunk.KindPad:
		case chunk.KindBase:
			if len(b) >= chunk.BaseSize {
				base = le64(b[8:])
			}
		case chunk.KindFull:
			size += chunk.FullSize - chunk.HeaderSize
			if len(b) >= 16 {
				tick = le64(b[8:])
			}
		default:
			tick = base + uint64(uint32(h))
		}
		if size > len(b) {
			break
		}
		if tick != 0 {
			if skip == 0 {
				first = tick
				if known >= first {
					return first, known
				}
			}
			skip--
			last = tick
		}
		b = b[size:]
	}
	return first, max(last, first)
}

// begin publishes a claimed chunk in state st, with base as its base.
func (m *Mem) begin(i int, slot uint64, st chunkState, base uint64) ctl {
	d := m.at(i)
	d.base.Store(base)
	d.last.Store(0)
	d.seq.Store(m.h.seq.Add(1))
	c := makeCtl(ctl(d.ctl.Load()).gen()+1, slot, st)
	d.ctl.Store(uint64(c))
	return c
}

// release gives a claimed chunk back unused.
func (m *Mem) release(i int) {
	d := m.at(i)
	d.ctl.Store(uint64(makeCtl(ctl(d.ctl.Load()).gen()+1, 0, free)))
	m.setFree(i)
}

// retire makes chunk i, seen as c, full, or free if it is empty. The caller has seen
// that it is not busy, or has made it busy.
func (m *Mem) retire(i int, c ctl) bool {
	d := m.at(i)
	if c.count() == 0 {
		return m.drop(i, c)
	}
	seq := d.seq.Load()
	if !d.ctl.CompareAndSwap(uint64(c), uint64(c.with(0, full))) {
		return false
	}
	m.ages[i].Store(seq)
	return true
}

// drop makes chunk i, seen as c, free without counting its events as lost.
func (m *Mem) drop(i int, c ctl) bool {
	d := m.at(i)
	n := makeCtl(c.gen()+1, 0, free)
	if !d.ctl.CompareAndSwap(uint64(c), uint64(n)) {
		return false
	}
	m.ages[i].Store(noAge)
	m.setFree(i)
	return true
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
