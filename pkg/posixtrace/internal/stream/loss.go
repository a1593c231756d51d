package stream

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// How losses are accounted for and told.
//
// Under LOOP a loss is what has been overwritten: each chunk has its account.
//
// Under the other policies events are lost only while the stream is stopped for lack of
// room. Stops use two accounts by turns; the state word says which. A start closes the
// account of the stop that it ends: a writer that was about to count a loss then finds that
// it has changed, and tries once more to record the event. So every loss belongs to one
// stop, and of each there is told at most one OVERFLOW.

// account returns the account in use under state st.
func (m *Mem) account(st uint64) *account { return &m.h.noRoom[st/odd&1] }

// addLost accounts for one lost event. first is 0 when all that was lost has
// been told; of several writers that lose their first event at once the earliest counts.
func (m *Mem) addLost(tick uint64) {
	a := m.account(m.h.state.Load())
	a.since(tick)
	a.add(1)
	m.h.losses.Add(1)
}

// maxLost is the largest total of an account. It stays there; what is lost beyond is still told.
const maxLost = lossMask >> 1

// add adds n, which is small, to the total.
func (a *account) add(n uint64) {
	if l := a.lost.Add(n); l&lossMask > maxLost {
		a.lost.Add(-min(n, l&lossMask-maxLost))
		a.again()
	}
}

// again makes a total that cannot grow any more one that was not told entirely.
func (a *account) again() { a.reported.CompareAndSwap(maxLost, maxLost-1) }

// addLostIf is addLost if account a is still as it was read, l.
func (m *Mem) addLostIf(a *account, l, tick uint64) bool {
	n := l + 1
	if l&lossMask >= maxLost {
		n = l
	}
	if !a.lost.CompareAndSwap(l, n) {
		return false
	}
	if n == l {
		a.again()
	}
	a.since(tick)
	m.h.losses.Add(1)
	return true
}

// AddLost accounts for n events that were to be recorded and could not even be
// offered to a writer. A stream that is suspended has not lost anything.
func (m *Mem) AddLost(n uint64) {
	h := m.h
	st := h.state.Load()
	if n == 0 || st&(Running|Full|LogFull) == 0 {
		return
	}
	now := m.now()
	a := m.account(st)
	a.since(now)
	add := func(w *atomic.Uint64) {
		for {
			l := w.Load()
			// Whoever tells n may be mistaken; the account must stay one.
			sum := l&^lossMask | min(l&lossMask+min(n, lossMask), maxLost)
			if sum < l || w.CompareAndSwap(l, sum) {
				return
			}
		}
	}
	if add(&a.lost); a.total() >= maxLost {
		a.again()
	}
	if m.Policy != Loop && st&Running != 0 {
		// No stop will tell of it.
		add(&a.reported)
		h.pendingOverflow.CompareAndSwap(0, now)
	}
	h.losses.Add(1)
}

// addRuined accounts for n events that were recorded and cannot be read, because somebody has
// overwritten them.
func (m *Mem) addRuined(n int) {
	now := m.now()
	a := m.account(m.h.state.Load())
	a.since(now)
	a.add(uint64(n))
	m.h.losses.Add(1)
	if m.Policy != Loop { // no stop will tell of it
		a.reported.Store(min(a.reported.Load()+uint64(n), a.total()))
		m.h.pendingOverflow.CompareAndSwap(0, now)
	}
}

func (a *account) since(tick uint64) {
	for {
		f := a.first.Load()
		if f != 0 && f <= tick || a.first.CompareAndSwap(f, max(tick, 1)) {
			break
		}
	}
	for {
		l := a.last.Load()
		if l >= tick || a.last.CompareAndSwap(l, tick) {
			break
		}
	}
}

// noRoomTotal is how many events were lost because there was no room.
func (h *header) noRoomTotal() uint64 { return h.noRoom[0].total() + h.noRoom[1].total() }

// stop is the number of the stop that is under way, or will be the next, plus one.
func (h *header) stop() uint64 { return h.stops.Load() + 1 }

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
		if st&(Full|StopReported) != Full {
			return false
		}
		if m.h.state.CompareAndSwap(st, st|StopReported+stateGen) {
			return true
		}
	}
}

// untold returns the time of the OVERFLOW that is due while the stream is
// stopped for lack of room, 0 if none is.
func (m *Mem) untold(a *account) uint64 {
	if a.overflow.Load() != 0 || a.total() == a.reported.Load() {
		return 0
	}
	return max(a.first.Load(), m.stopTick())
}

// see notes that the first n lost events were told, or are about to be.
func (a *account) see(n uint64) (any bool) {
	for {
		s := a.reported.Load()
		if n <= s {
			return false
		}
		if a.reported.CompareAndSwap(s, n) {
			return true
		}
	}
}

// tellLoss is untold for one who tells it now.
func (m *Mem) tellLoss(a *account) uint64 {
	n := a.total()
	first := m.untold(a)
	if first == 0 || !a.see(n) || a.overflow.Swap(1) != 0 {
		return 0
	}
	return first
}

// endStop ends the stop at tick stop, whose account is a, of a stream that was started at
// tick start. A loss that nobody has told yet is left to the next who reads or flushes.
func (m *Mem) endStop(a *account, stop, start uint64) {
	h := m.h
	l := a.lost.Load()
	for !a.lost.CompareAndSwap(l, (l>>genShift+1)<<genShift|l&lossMask) {
		l = a.lost.Load()
	}
	h.stops.Add(1)
	first := a.first.Swap(0)
	if a.see(l&lossMask) && a.overflow.Load() == 0 {
		h.pendingOverflow.Store(min(max(first, stop, h.drained.Load()+1), max(stop, start-1)))
		h.losses.Add(1)
	}
	a.overflow.Store(0)
}

// forget drops everything that is to be told.
func (m *Mem) forget() {
	h := m.h
	if m.Policy == Loop {
		m.seeEach(math.MaxUint64, func(first, last uint64) {})
	} else {
		for i := range h.noRoom {
			h.noRoom[i].overflow.Store(1)
			m.endStop(&h.noRoom[i], 0, math.MaxUint64)
		}
	}
	h.pendingOverflow.Store(0)
	h.gapEnd.Store(0)
	h.gapNext.Store(0)
	h.autoStop.Store(0)
	h.recordedOverflow.Store(0)
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
		if d.lost.Load()&lossMask != d.reported.Load() {
			l.add(d.lostFirst.Load(), d.lostLast.Load())
		}
	}
	if a := &m.h.noRoom[0]; a.total() != a.reported.Load() {
		l.add(a.first.Load(), a.last.Load())
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
			if n == d.reported.Load() {
				break
			}
			first, last := d.lostFirst.Load(), d.lostLast.Load()
			if try < seeTries && (ctl(c).state() == claiming || d.ctl.Load() != c && d.lost.Load()&lossMask != n) {
				runtime.Gosched() // somebody is adding to it
				continue
			}
			if first <= before {
				add(first, last)
				d.reported.Store(n)
			}
			break
		}
	}
	a := &m.h.noRoom[0]
	n := a.total()
	if n == a.reported.Load() || a.first.Load() > before {
		return
	}
	last := a.last.Load()
	add(a.first.Swap(0), last)
	a.reported.Store(n)
}
