package stream

import (
	"math"
	"runtime"
	"time"
)

// How losses are accounted for and told.
//
// Under LOOP a loss is what has been overwritten: each chunk has its account.
//
// Under the other policies events are lost only while the stream is stopped for lack of
// room. The stops are numbered, and the number is in one word with the total of lost
// events: a writer that was about to count a loss when the stream was started again
// finds another number, and tries once more to record the event. So every loss belongs
// to one stop, and of each there is told at most one OVERFLOW.

// addLost accounts for one lost event. lostFirst is 0 when all that was lost has
// been told; of several writers that lose their first event at once the earliest counts.
func (h *header) addLost(tick uint64) {
	h.lostSince(tick)
	h.lost.Add(1)
	h.losses.Add(1)
}

// AddLost accounts for n events that were to be recorded and could not even be
// offered to a writer. A stream that is suspended has not lost anything.
func (m *Mem) AddLost(n uint64) {
	h := m.h
	if n == 0 || m.State()&(Running|Full|LogFull) == 0 {
		return
	}
	h.lostSince(m.now())
	for {
		l := h.lost.Load()
		// Whoever tells n may be mistaken; the account must stay one.
		sum := l&^lossMask | min(l&lossMask+min(n, lossMask), lossMask>>1)
		if sum < l || h.lost.CompareAndSwap(l, sum) {
			break
		}
	}
	h.losses.Add(1)
}

// addLostIf is addLost if nothing has been lost, and no stop has ended, since the account was
// read as l.
func (h *header) addLostIf(l, tick uint64) bool {
	if !h.lost.CompareAndSwap(l, l+1) {
		return false
	}
	h.lostSince(tick)
	h.losses.Add(1)
	return true
}

func (h *header) lostSince(tick uint64) {
	for {
		f := h.lostFirst.Load()
		if f != 0 && f <= tick || h.lostFirst.CompareAndSwap(f, max(tick, 1)) {
			break
		}
	}
	for {
		l := h.lostLast.Load()
		if l >= tick || h.lostLast.CompareAndSwap(l, tick) {
			break
		}
	}
}

// noRoomTotal is how many events were lost because there was no room.
func (h *header) noRoomTotal() uint64 { return h.lost.Load() & lossMask }

// stops is the number of the stop that is under way, or will be the next, plus one.
func (h *header) stops() uint64 { return h.lost.Load()>>genShift + 1 }

// skew is how far, in ticks, the time of a stop is ahead of it: the processor may read
// the clock for an event a little later than it has seen the stream running.
const skew = 2000

// stopTick is when the stream stopped by itself. Whoever stopped it may be about to
// say so, or dead.
func (m *Mem) stopTick() uint64 {
	for t := time.Now(); ; {
		if s := m.h.autoStop.Load(); s != 0 {
			return s
		}
		if time.Since(t) > patience {
			m.h.autoStop.CompareAndSwap(0, m.now())
		} else {
			runtime.Gosched()
		}
	}
}

// tellStop reports whether the caller is the one to tell of an automatic stop.
func (m *Mem) tellStop() bool {
	for {
		st := m.h.state.Load()
		if st&(Full|StopTold) != Full {
			return false
		}
		if m.h.state.CompareAndSwap(st, st|StopTold+stateGen) {
			return true
		}
	}
}

// untold returns the time of the OVERFLOW that is due while the stream is
// stopped for lack of room, 0 if none is.
func (m *Mem) untold() uint64 {
	if m.h.told.Load() != 0 || m.h.noRoomTotal() == m.h.lostSeen.Load() {
		return 0
	}
	return max(m.h.lostFirst.Load(), m.stopTick())
}

// seen notes that the first n lost events were told, or are about to be.
func (h *header) seen(n uint64) (any bool) {
	for {
		s := h.lostSeen.Load()
		if n <= s {
			return false
		}
		if h.lostSeen.CompareAndSwap(s, n) {
			return true
		}
	}
}

// tellLoss is untold for one who tells it now.
func (m *Mem) tellLoss() uint64 {
	n := m.h.noRoomTotal()
	first := m.untold()
	if first == 0 || !m.h.seen(n) || m.h.told.Swap(1) != 0 {
		return 0
	}
	return first
}

// endStop ends the stop at tick stop of a stream that was started at tick
// start. A loss that nobody has told yet is left to the next who reads or flushes.
func (m *Mem) endStop(stop, start uint64) {
	h := m.h
	// From here on what is lost belongs to another stop, which may be under way already.
	l := h.lost.Load()
	for !h.lost.CompareAndSwap(l, (l>>genShift+1)<<genShift|l&lossMask) {
		l = h.lost.Load()
	}
	first := h.lostFirst.Swap(0)
	if h.seen(l&lossMask) && h.told.Load() == 0 {
		h.owed.Store(min(max(first, stop, h.drained.Load()+1), max(stop, start-1)))
		h.losses.Add(1)
	}
	h.told.Store(0)
}

// forget drops everything that is to be told.
func (m *Mem) forget() {
	h := m.h
	if m.Policy == Loop {
		m.seeEach(math.MaxUint64, func(first, last uint64) {})
	} else {
		h.told.Store(1)
		m.endStop(0, math.MaxUint64)
	}
	h.owed.Store(0)
	h.resume.Store(0)
	h.resumeAt.Store(0)
	h.autoStop.Store(0)
	h.within.Store(0)
}

// loss is what has been lost and not yet told.
type loss struct {
	any         bool
	first, last uint64
}

func (l *loss) add(first, last uint64) {
	if first == 0 {
		first = last // the writer has not come to tell it
	}
	if !l.any || first < l.first {
		l.first = first
	}
	l.any, l.last = true, max(l.last, last)
}

// unseen returns what has been lost of a LOOP stream and not yet told.
func (m *Mem) unseen() (l loss) {
	for i := range m.Chunks {
		d := m.at(i)
		if d.lost.Load()&lossMask != d.lostSeen.Load() {
			l.add(d.lostFirst.Load(), d.lostLast.Load())
		}
	}
	if m.h.noRoomTotal() != m.h.lostSeen.Load() {
		l.add(m.h.lostFirst.Load(), m.h.lostLast.Load())
	}
	return
}

// see is unseen for one who tells it now, of what began up to tick before. More
// may be lost meanwhile: told is only what is in the result.
func (m *Mem) see(before uint64) (l loss) {
	m.seeEach(before, func(first, last uint64) { l.add(first, last) })
	return
}

// seeTries bounds how often an account is read that changes meanwhile.
const seeTries = 20

// seeEach is see with what was lost of each chunk, and for lack of one, by itself.
func (m *Mem) seeEach(before uint64, add func(first, last uint64)) {
	for i := range m.Chunks {
		d := m.at(i)
		for try := 0; ; try++ {
			c := d.ctl.Load()
			n := d.lost.Load() & lossMask
			if n == d.lostSeen.Load() {
				break
			}
			first, last := d.lostFirst.Load(), d.lostLast.Load()
			if try < seeTries && (ctl(c).state() == claiming || d.ctl.Load() != c && d.lost.Load()&lossMask != n) {
				runtime.Gosched() // somebody is adding to it
				continue
			}
			if first <= before {
				add(first, last)
				d.lostSeen.Store(n)
			}
			break
		}
	}
	n := m.h.noRoomTotal()
	if n == m.h.lostSeen.Load() || m.h.lostFirst.Load() > before {
		return
	}
	last := m.h.lostLast.Load()
	add(m.h.lostFirst.Swap(0), last)
	m.h.lostSeen.Store(n)
}
