package stream

import (
	"math/bits"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// claimTries bounds how often a claim starts over because others were faster.
const claimTries = 1000

// claim takes a chunk for slot. Its first choice is a free one, in state claiming for begin to
// publish. The second is a partial one with room for need bytes, adopted: it is in state st already,
// with the control word that claim returns, and keeps its events. Under LOOP the third is the closed
// chunk whose newest event is oldest; claim takes it as if it were free. It returns false when there
// is none.
func (m *Mem) claim(slot uint64, st chunkState, need int) (i int, adopted ctl, ok bool) {
	for range claimTries {
		if i, ok := m.takeFree(slot); ok {
			return i, 0, true
		}
		m.closeAllDisplaced()
		if i, c, ok := m.adopt(slot, st, need); ok {
			return i, c, true
		}
		i, c, again := m.oldest()
		if again {
			continue
		}
		if i < 0 {
			return 0, 0, false
		}
		if m.take(i, slot, c) {
			if c.state() != free && m.h.loopFull.Load() == 0 {
				m.h.loopFull.Store(1)
			}
			return i, 0, true
		}
	}
	return 0, 0, false
}

// takeFree takes a chunk that the map of free ones has.
func (m *Mem) takeFree(slot uint64) (int, bool) {
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
				return i, true
			}
		}
	}
	return 0, false
}

// oldest returns the chunk to take, and its control word, when the map of free ones has none: under LOOP the
// one that was closed first. The map may lack a free chunk if a process was killed between the two
// stores that free it; so oldest finds free chunks, too. It returns -1 if there is none, and again
// if there may be a partial one now.
func (m *Mem) oldest() (best int, seen ctl, again bool) {
	if m.Policy == Loop {
		i, c := m.closedFirst()
		return i, c, false
	}
	for i := range m.Chunks {
		c := ctl(m.at(i).ctl.Load())
		if c.state() == free && !c.busy() {
			return i, c, false
		}
		if m.unreachable(i, c) && m.closeFound(i, c, false) {
			again = true
		}
	}
	return -1, 0, again
}

// closedFirst returns the chunk to overwrite under LOOP, and its control word.
func (m *Mem) closedFirst() (int, ctl) {
	best, age := -1, ^uint64(0)
	var seen ctl
	ages := m.ages
	for i := range ages {
		if ages[i].Load() >= age {
			continue // a chunk only gets younger
		}
		c := ctl(m.at(i).ctl.Load())
		if (c.state().closed() || c.state() == free) && !c.busy() || m.unreachable(i, c) {
			// A chunk gets its age before it is closed. The age seen above may be one that the chunk
			// had before.
			if a := ages[i].Load(); a < age {
				best, age, seen = i, a, c
			}
		}
	}
	return best, seen
}

// adopt moves a partial chunk with room for need bytes to state st. An owned chunk is busy until the
// writer is ready to append to it.
func (m *Mem) adopt(slot uint64, st chunkState, need int) (int, ctl, bool) {
	hint := m.h.partials.Load()
	if hint&somePartial == 0 {
		return 0, 0, false
	}
	any := false
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() != partial {
			continue
		}
		any = true
		if c.off()+need <= m.ChunkSize {
			if n, ok := d.adopt(c, slot, st); ok {
				return i, n, true
			}
		}
	}
	if !any {
		m.clearPartialHint(hint)
	}
	return 0, 0, false
}

// somePartial in the header's word says that there may be partial chunks. The bits above it count
// how often a chunk became partial, so that a writer that looked for one before cannot say that
// there is none.
const somePartial = 1

func (m *Mem) setPartialHint() {
	m.h.partials.Add(2 * somePartial)
	m.h.partials.Or(somePartial)
}

func (m *Mem) clearPartialHint(hint uint64) { m.h.partials.CompareAndSwap(hint, hint&^somePartial) }

// notFree takes chunk i out of the map of free ones.
func (m *Mem) notFree(i int) {
	m.freeMap[i>>6].And(^(uint64(1) << (i & 63)))
	if ctl(m.at(i).ctl.Load()).state() == free {
		m.setFree(i) // it was freed meanwhile
	}
}

// take moves chunk i to claiming, accounts for the events that it
// still held, and empties it.
func (m *Mem) take(i int, slot uint64, c ctl) bool {
	if !m.at(i).claim(c, slot) {
		return false
	}
	if bit := uint64(1) << (i & 63); m.freeMap[i>>6].Load()&bit != 0 {
		m.freeMap[i>>6].And(^bit)
	}
	m.empty(i, c)
	return true
}

// empty accounts for the unread events of chunk i, which is in state claiming
// and was in state c, and gives it its next generation. If the claimer is killed, Recover runs it
// again: each step is done once.
func (m *Mem) empty(i int, c ctl) {
	d := m.at(i)
	next := (c.gen() + 1) & genMask
	if d.lost.Load()>>genShift != next {
		// From here on a reader can no longer consume the events counted as lost.
		r := readWord(d.read.Load())
		for !r.frozen() && r.gen() == c.gen() && !d.read.CompareAndSwap(uint64(r), uint64(r)|frozenBit) {
			r = readWord(d.read.Load())
		}
		done := m.consumedOf(i, c)
		total := d.lost.Load() & lossMask
		if n := c.count() - done; n > 0 {
			first, last := span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), done, d.notedLast(c))
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

// consumedOf returns how many events at the start of chunk i were read or cleared.
func (m *Mem) consumedOf(i int, c ctl) int {
	r := readWord(m.at(i).read.Load())
	if r.gen() != c.gen() {
		return 0
	}
	return min(max(r.count(), m.clearedOf(i, c)), c.count())
}

// walker steps through the records of a chunk without decoding them. A record that makes no sense
// ends the walk.
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

// earliest returns the tick of the first event of chunk i, which is not empty. It
// may be older than the chunk.
func (m *Mem) earliest(i int, c ctl) uint64 {
	base := m.at(i).base.Load()
	w := walker{b: m.bytes(i)[:min(c.off(), m.ChunkSize)], base: base}
	if tick, ok := w.next(); ok {
		return min(tick, base)
	}
	return base
}

// findEnd returns what a writer must know to append to chunk i: the tick of its last
// event, and how many sites it defines.
func (m *Mem) findEnd(i int, c ctl) (last uint64, sites int) {
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

// horizonStep is how far the horizon may be behind when a chunk begins, in ticks: less than a
// millisecond.
const horizonStep = 1 << 20

// begin publishes a claimed chunk in state st, with base as its base.
func (m *Mem) begin(i int, slot uint64, st chunkState, base uint64) ctl {
	d := m.at(i)
	d.base.Store(base)
	now := m.now()
	// Now and then, so that the stream knows its time if the counter is set back: each event loads the
	// horizon, and a store would take its cache line from all writers.
	if now-m.h.horizon.Load() > horizonStep {
		m.raiseHorizon(now)
	}
	d.startedAt.Store(now)
	d.enteredAt.Store(0)
	d.last.Store(0)
	d.sites.Store(0)
	d.cleared.Store(0)
	d.notes.Store(0)
	m.h.seq.Add(1)
	return d.begin(slot, st)
}

// release gives a claimed chunk back unused.
func (m *Mem) release(i int) {
	m.at(i).release()
	m.setFree(i)
}

// retire makes chunk i full, or free if it is empty. The caller has seen
// that it is not busy, or has made it busy.
func (m *Mem) retire(i int, c ctl) bool { return m.closeChunk(i, c, full) }

// closeChunk ends the writing to chunk i: it becomes full or partial, or
// free if it is empty. Its age is stored first, so that no chunk that may be overwritten looks older
// than it is.
func (m *Mem) closeChunk(i int, c ctl, st chunkState) bool {
	if c.count() > 0 {
		m.setAge(i)
	}
	return m.closeAged(i, c, st)
}

// closeAged does what closeChunk does, and leaves the age alone.
func (m *Mem) closeAged(i int, c ctl, st chunkState) bool {
	if c.count() == 0 {
		return m.drop(i, c)
	}
	if st == partial {
		return m.at(i).park(c)
	}
	return m.at(i).retire(c)
}

// setAge makes chunk i the youngest.
func (m *Mem) setAge(i int) {
	age := m.h.seq.Add(1)
	for {
		a := m.ages[i].Load()
		if a >= age || m.ages[i].CompareAndSwap(a, age) {
			return
		}
	}
}

// park makes chunk i partial, which has room left. Other writers may adopt it, since the room is
// promised (ATR-24).
func (m *Mem) park(i int, c ctl) bool {
	if c.count() > 0 {
		m.setAge(i)
	}
	return m.parkAged(i, c)
}

// parkAged does what park does, and leaves the age alone: the chunk was displaced long ago, and
// is overwritten as if it had been closed then.
func (m *Mem) parkAged(i int, c ctl) bool {
	if c.off()+chunk.EventSize(0) > m.ChunkSize {
		return m.closeAged(i, c, full)
	}
	d := m.at(i)
	was := d.last.Load() // before the word
	last, sites := m.findEnd(i, c)
	if ctl(d.ctl.Load()) != c {
		return false // the records that findEnd has seen may be another writer's
	}
	if d.last.CompareAndSwap(was, last) { // else a writer came between, or another one that closes the chunk
		d.noteEnd(c, sites)
	}
	if !m.closeAged(i, c, partial) {
		return false
	}
	m.setPartialHint()
	return true
}

// noteEnd notes that d.last and sites are those of the events in the word c. A process that closes the chunk may
// store them late, when the chunk has more events; generation and offset show it then.
func (d *desc) noteEnd(c ctl, sites int) { d.sites.Store(uint64(makeRead(c.gen()).at(sites, c.off()))) }

// notedEnd returns what noteEnd has noted, and whether it is known to be so for the word c.
func (d *desc) notedEnd(c ctl) (last uint64, sites int, known bool) {
	s := readWord(d.sites.Load())
	return d.last.Load(), s.count(), s == makeRead(c.gen()).at(s.count(), c.off())
}

// notedLast returns the tick of the last event in the word c, 0 if it is not known.
func (d *desc) notedLast(c ctl) uint64 {
	if last, _, known := d.notedEnd(c); known {
		return last
	}
	return 0
}

// parkUnwritten makes chunk i partial again after a flush failed to write it. c is the control word that the
// flush saw. The chunk gets another generation: its former owner, which may not know that it was closed, must
// not append when another writer of the process has adopted it.
func (m *Mem) parkUnwritten(i int, slot uint64, c ctl) {
	if c.off()+chunk.EventSize(0) > m.ChunkSize {
		return
	}
	d := m.at(i)
	l, ok := d.ship(c, slot)
	if !ok {
		return
	}
	r := readWord(d.read.Load())
	read := r.renewed(c)
	if w := readWord(d.cleared.Load()); w&wasCleared != 0 && w.gen() == c.gen() {
		d.cleared.Store(uint64(makeRead(c.gen()+1) | w&(1<<genShift-1)))
	}
	if !d.read.CompareAndSwap(uint64(r), uint64(read)) {
		// Only readers change the read word: a hostile process has.
		if d.handBack(l, c.state()) && c.state() == partial {
			m.setPartialHint()
		}
		return
	}
	if n, ok := d.renew(l, leaving); ok {
		m.park(i, n)
	}
}

// drop makes chunk i free without counting its events as lost. A
// reader that has copied them can no longer report them.
func (m *Mem) drop(i int, c ctl) bool {
	d := m.at(i)
	if !d.drop(c) {
		return false
	}
	// This fails if the chunk has already been claimed anew, which stops the reader as well.
	if r := d.read.Load(); readWord(r).gen() == c.gen() {
		d.read.CompareAndSwap(r, r|frozenBit)
	}
	m.setFree(i)
	return true
}
