package stream

import (
	"math/bits"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// claimTries bounds how often a claim starts over because others were faster.
const claimTries = 1000

// claim takes a chunk for slot. First choice is a free one, in state claiming for begin
// to publish. Then a loose one with room for need bytes, adopted: it is in state
// st already, with the control word that is returned, and keeps its events. Under LOOP it is then, as if free, the closed
// one whose newest event is oldest. It returns false when there is none.
func (m *Mem) claim(slot uint64, st chunkState, need int) (i int, adopted ctl, ok bool) {
	for range claimTries {
		for w := range m.freeMap {
			for b := m.freeMap[w].Load(); b != 0; b &= b - 1 {
				i := w<<6 + bits.TrailingZeros64(b)
				if i >= m.Chunks {
					break
				}
				c := ctl(m.at(i).ctl.Load())
				if c.state() != free {
					m.notFree(i)
				} else if m.take(i, slot, c) {
					return i, 0, true
				}
			}
		}
		m.closeAllAside()
		if i, c, ok := m.adopt(slot, st, need); ok {
			return i, c, true
		}
		// The map may lag behind a process killed between the two stores.
		best, age, loosened := -1, ^uint64(0), false
		var seen ctl
		if m.Policy == Loop {
			for i := range m.ages {
				if a := m.ages[i].Load(); a < age {
					c := ctl(m.at(i).ctl.Load())
					if (c.state().closed() || c.state() == free) && !c.busy() || m.forgotten(i, c) {
						best, age, seen = i, a, c
					}
				}
			}
		} else {
			for i := range m.Chunks {
				c := ctl(m.at(i).ctl.Load())
				if c.state() == free && !c.busy() {
					best, seen = i, c
					break
				}
				if m.forgotten(i, c) && m.closeFound(i, c, false) {
					loosened = true
				}
			}
		}
		if best < 0 && loosened {
			continue
		}
		if best < 0 {
			return 0, 0, false
		}
		if m.take(best, slot, seen) {
			if seen.state() != free {
				m.h.loopFull.Store(1)
			}
			return best, 0, true
		}
	}
	return 0, 0, false
}

// adopt moves a loose chunk with room for need bytes to state st.
func (m *Mem) adopt(slot uint64, st chunkState, need int) (int, ctl, bool) {
	hint := m.h.loosened.Load()
	if hint&someLoose == 0 {
		return 0, 0, false
	}
	if st == open {
		slot = 0
	}
	any := false
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() != loose {
			continue
		}
		any = true
		if !c.busy() && c.off()+need <= m.ChunkSize && d.ctl.CompareAndSwap(uint64(c), uint64(c.with(slot, st))) {
			return i, c.with(slot, st), true
		}
	}
	if !any {
		m.noneLoose(hint)
	}
	return 0, 0, false
}

// someLoose says that there may be loose chunks; above it counts how often one became
// loose, so that who has looked for one before cannot say that there is none.
const someLoose = 1

func (m *Mem) oneLoose() {
	m.h.loosened.Add(2 * someLoose)
	m.h.loosened.Or(someLoose)
}

func (m *Mem) noneLoose(hint uint64) { m.h.loosened.CompareAndSwap(hint, hint&^someLoose) }

// notFree takes chunk i out of the map of free ones.
func (m *Mem) notFree(i int) {
	m.freeMap[i>>6].And(^(uint64(1) << (i & 63)))
	if ctl(m.at(i).ctl.Load()).state() == free {
		m.setFree(i) // it was freed meanwhile
	}
}

// take moves chunk i, seen as c, to claiming, accounts for the events that it
// still held, and empties it.
func (m *Mem) take(i int, slot uint64, c ctl) bool {
	if c.busy() || !m.at(i).ctl.CompareAndSwap(uint64(c), uint64(c.with(slot, claiming))) {
		return false
	}
	m.freeMap[i>>6].And(^(uint64(1) << (i & 63)))
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
			done = min(max(r.count(), m.clearedOf(i, c)), c.count())
		}
		total := d.lost.Load() & lossMask
		if n := c.count() - done; n > 0 {
			first, last := span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), done, d.last.Load())
			if total == d.reported.Load() {
				d.lostFirst.Store(first)
			}
			d.lostLast.Store(last)
			if total += uint64(n); total > lossMask {
				if o := d.lostOver.Load(); o == 0 || o>>genShift != next {
					d.lostOver.Store(next<<genShift | (o+1)&lossMask)
				}
			}
		}
		d.lost.Store(next<<genShift | total&lossMask)
		m.h.losses.Add(1)
	}
	d.read.Store(uint64(makeRead(next)))
}

// walker steps through the records of a chunk for what can be seen without
// decoding them. What makes no sense ends the walk.
type walker struct {
	b     []byte
	base  uint64
	sites int
}

// next returns the tick of the next event.
func (w *walker) next() (tick uint64, ok bool) {
	for len(w.b) >= chunk.HeaderSize {
		h := le64(w.b)
		n, num := int(uint16(h>>32)), uint16(h>>48)&^chunk.Truncated
		size := chunk.HeaderSize + chunk.Align(n)
		if num == chunk.KindFull {
			size += chunk.FullSize - chunk.HeaderSize
		}
		if size > len(w.b) {
			break
		}
		rec := w.b[:size]
		w.b = w.b[size:]
		switch {
		case num == chunk.KindPad:
		case num == chunk.KindSite:
			w.sites++
		case num == chunk.KindBase:
			if size >= chunk.BaseSize {
				w.base = le64(rec[8:])
			}
		case num == chunk.KindFull:
			return le64(rec[8:]), true
		default:
			return w.base + uint64(uint32(h)), true
		}
	}
	return 0, false
}

// span returns the ticks of event number skip and of the last one of a chunk.
// The latter is known if known is not 0; that saves walking through.
func span(b []byte, base uint64, skip int, known uint64) (first, last uint64) {
	first, last = base, base
	w := walker{b: b, base: base}
	for n := 0; ; n++ {
		tick, ok := w.next()
		if !ok {
			return first, max(last, first)
		}
		if n == skip {
			first = tick
			if known >= first {
				return first, known
			}
		}
		last = tick
	}
}

// earliest returns the tick of the first event of chunk i, seen as c, which is not empty. It
// may be older than the chunk.
func (m *Mem) earliest(i int, c ctl) uint64 {
	base := m.at(i).base.Load()
	w := walker{b: m.bytes(i)[:min(c.off(), m.ChunkSize)], base: base}
	if tick, ok := w.next(); ok {
		return min(tick, base)
	}
	return base
}

// ending returns what one must know to go on in chunk i, seen as c: the tick of its last
// event, and how many sites are defined.
func (m *Mem) ending(i int, c ctl) (last uint64, sites int) {
	last = m.at(i).base.Load()
	w := walker{b: m.bytes(i)[:min(c.off(), m.ChunkSize)], base: last}
	for {
		tick, ok := w.next()
		if !ok {
			return last, w.sites
		}
		last = max(last, tick)
	}
}

// begin publishes a claimed chunk in state st, with base as its base.
func (m *Mem) begin(i int, slot uint64, st chunkState, base uint64) ctl {
	d := m.at(i)
	d.base.Store(base)
	now := m.now()
	m.reached(now)
	d.born.Store(now)
	d.joined.Store(0)
	d.last.Store(0)
	d.sites.Store(0)
	d.cleared.Store(0)
	m.h.seq.Add(1)
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
func (m *Mem) retire(i int, c ctl) bool { return m.leave(i, c, full) }

// leave ends the writing to chunk i, seen as c: it becomes full or loose, or
// free if it is empty. Its age is stored first, so that there is no chunk to
// be overwritten that looks older than it is.
func (m *Mem) leave(i int, c ctl, st chunkState) bool {
	if c.count() > 0 {
		m.date(i)
	}
	return m.leaveAged(i, c, st)
}

// leaveAged is leave for a chunk whose age is known.
func (m *Mem) leaveAged(i int, c ctl, st chunkState) bool {
	if c.count() == 0 {
		return m.drop(i, c)
	}
	return m.at(i).ctl.CompareAndSwap(uint64(c), uint64(c.with(0, st)))
}

// date makes chunk i the youngest.
func (m *Mem) date(i int) {
	age := m.h.seq.Add(1)
	for {
		a := m.ages[i].Load()
		if a >= age || m.ages[i].CompareAndSwap(a, age) {
			return
		}
	}
}

// loosen is leave for a writer that has room left in its chunk: others may go on
// in it, for room is what was promised (ATR-24).
func (m *Mem) loosen(i int, c ctl) bool {
	if c.count() > 0 {
		m.date(i)
	}
	return m.loosenAged(i, c)
}

// loosenAged is loosen for a chunk whose age is known: it was put aside long ago, and
// is overwritten as if it had been closed then.
func (m *Mem) loosenAged(i int, c ctl) bool {
	if c.off()+chunk.EventSize(0) > m.ChunkSize {
		return m.leaveAged(i, c, full)
	}
	d := m.at(i)
	last, sites := m.ending(i, c)
	if ctl(d.ctl.Load()) != c {
		return false // what we have looked at may be another's
	}
	d.last.Store(last)
	d.sites.Store(uint64(makeRead(c.gen()).at(sites, c.off())))
	if !m.leaveAged(i, c, loose) {
		return false
	}
	m.oneLoose()
	return true
}

// reopen is loosen for a chunk that a flush has made full, seen as c, and could not put.
// It gets another generation: its writer, who may not know that it was closed, must not
// take it for its own when somebody else of its process goes on in it.
func (m *Mem) reopen(i int, slot uint64, c ctl) {
	if c.off()+chunk.EventSize(0) > m.ChunkSize {
		return
	}
	d := m.at(i)
	l := c.with(slot, leaving)
	if !d.ctl.CompareAndSwap(uint64(c), uint64(l)) {
		return
	}
	r := readWord(d.read.Load())
	read := makeRead(c.gen() + 1)
	if r.gen() == c.gen() {
		read |= r & (offMask | countMask)
	}
	if w := readWord(d.cleared.Load()); w&wasCleared != 0 && w.gen() == c.gen() {
		d.cleared.Store(uint64(makeRead(c.gen()+1) | w&(1<<genShift-1)))
	}
	if !d.read.CompareAndSwap(uint64(r), uint64(read)) {
		d.ctl.CompareAndSwap(uint64(l), uint64(c)) // somebody has changed what only readers change
		return
	}
	if n := l.renewed(); d.ctl.CompareAndSwap(uint64(l), uint64(n)) {
		m.loosen(i, n)
	}
}

// drop makes chunk i, seen as c, free without counting its events as lost. A
// reader that has copied them can no longer report them.
func (m *Mem) drop(i int, c ctl) bool {
	d := m.at(i)
	n := makeCtl(c.gen()+1, 0, free)
	if !d.ctl.CompareAndSwap(uint64(c), uint64(n)) {
		return false
	}
	// Fails if the chunk has already been claimed anew, which does as well.
	if r := d.read.Load(); readWord(r).gen() == c.gen() {
		d.read.CompareAndSwap(r, r|frozenBit)
	}
	m.setFree(i)
	return true
}
