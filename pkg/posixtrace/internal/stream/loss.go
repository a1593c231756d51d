package stream

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// Accounts of lost events.
//
// Under LOOP, overwritten events are lost: each chunk has its account.
//
// Under the other policies events are lost only while the stream is stopped for lack of room.
// Stops use the two accounts of the header in turn; the state word says which. A start closes the
// account of the stop that it ends: a writer that was about to count a loss then finds that the
// account has changed, and retries to record the event. So every loss belongs to one stop, and
// each stop has at most one OVERFLOW.

// account returns the account in use under state st.
func (m *Mem) account(st uint64) *account { return &m.h.lossAccounts[st/lossB&1] }

// addLost accounts for one lost event. If several writers lose their first event at once, the
// earliest is the first of the account.
func (m *Mem) addLost(tick uint64) {
	a := m.account(m.h.state.Load())
	a.extend(tick)
	a.add(1)
	m.h.losses.Add(1)
}

// maxLost is the largest total of an account, which saturates there. Further losses are still
// reported.
const maxLost = lossMask >> 1

// add adds n, which is small, to the total.
func (a *account) add(n uint64) {
	if l := a.lost.Add(n); l&lossMask > maxLost {
		a.lost.Add(-min(n, l&lossMask-maxLost))
		a.reportAgain()
	}
}

// reportAgain makes a part of a saturated total, which cannot grow, unreported.
func (a *account) reportAgain() { a.reported.CompareAndSwap(maxLost, maxLost-1) }

// addLostIf accounts for one lost event if the lost word of account a is still l.
func (m *Mem) addLostIf(a *account, l, tick uint64) bool {
	n := l + 1
	if l&lossMask >= maxLost {
		n = l
	}
	if !a.lost.CompareAndSwap(l, n) {
		return false
	}
	if n == l {
		a.reportAgain()
	}
	a.extend(tick)
	m.h.losses.Add(1)
	return true
}

// AddLost accounts for n events that their source lost before it could offer them to a writer. A
// suspended stream has not lost them.
func (m *Mem) AddLost(n uint64) {
	h := m.h
	st := h.state.Load()
	if n == 0 || st&(Running|Full|LogFull) == 0 {
		return
	}
	now := m.now()
	a := m.account(st)
	a.extend(now)
	add := func(w *atomic.Uint64) {
		for {
			l := w.Load()
			// n is untrusted; saturate rather than overflow into the generation bits.
			sum := l&^lossMask | min(l&lossMask+min(n, lossMask), maxLost)
			if sum < l || w.CompareAndSwap(l, sum) {
				return
			}
		}
	}
	if add(&a.lost); a.total() >= maxLost {
		a.reportAgain()
	}
	if m.Policy != Loop && st&Running != 0 {
		// No stop will report it.
		add(&a.reported)
		h.pendingOverflow.CompareAndSwap(0, now)
	}
	h.losses.Add(1)
}

// addRuined accounts for n events that were recorded and cannot be read, because their records
// were overwritten.
func (m *Mem) addRuined(n int) {
	now := m.now()
	a := m.account(m.h.state.Load())
	a.extend(now)
	a.add(uint64(n))
	m.h.losses.Add(1)
	if m.Policy != Loop { // no stop will report it
		a.reported.Store(min(a.reported.Load()+uint64(n), a.total()))
		m.h.pendingOverflow.CompareAndSwap(0, now)
	}
}

// extend makes the account cover a loss at tick.
func (a *account) extend(tick uint64) {
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

// lossTotal is how many events were lost because there was no room.
func (h *header) lossTotal() uint64 { return h.lossAccounts[0].total() + h.lossAccounts[1].total() }

// skew is how far, in ticks, the tick of a stop is ahead of it: the processor may read
// the clock for an event a little later than it has seen the stream running.
const skew = 2000

// stopTick returns when the stream stopped for lack of room. The writer that stopped it may be
// about to store the tick, or dead.
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

// claimStop claims the report of the STOP of the stop under way. It returns false if another process
// has claimed it.
func (m *Mem) claimStop() bool {
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

// claimReport marks the first n lost events as reported. It returns false if they are already.
func (a *account) claimReport(n uint64) bool {
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

// stopLossTick returns the tick of the OVERFLOW for the losses of the stop under way.
func (m *Mem) stopLossTick(a *account) uint64 { return max(a.first.Load(), m.stopTick()) }

// claimStopLoss marks the losses of the stop under way, with account a, as reported. It returns
// the tick of their OVERFLOW, 0 if another process reports them.
func (m *Mem) claimStopLoss(a *account) uint64 {
	n := a.total()
	if a.overflow.Load() != 0 || n == a.reported.Load() {
		return 0
	}
	tick := m.stopLossTick(a)
	if !a.claimReport(n) || a.overflow.Swap(1) != 0 {
		return 0
	}
	return tick
}

// postponeOverflow leaves an OVERFLOW to the next process that reads or flushes.
func (m *Mem) postponeOverflow(tick uint64) {
	m.h.pendingOverflow.Store(tick)
	m.h.losses.Add(1)
}

// endStop closes account a of the stop at tick stop. The stream was started at tick start. An
// unreported loss is left to the next process that reads or flushes.
func (m *Mem) endStop(a *account, stop, start uint64) {
	h := m.h
	l := a.lost.Load()
	for !a.lost.CompareAndSwap(l, (l>>genShift+1)<<genShift|l&lossMask) {
		l = a.lost.Load()
	}
	first := a.first.Swap(0)
	if a.claimReport(l&lossMask) && a.overflow.Load() == 0 {
		m.postponeOverflow(min(max(first, stop, h.flushedTo.Load()+1), max(stop, start-1)))
	}
	a.overflow.Store(0)
}

// dropMarks drops all marks that are due.
func (m *Mem) dropMarks() {
	h := m.h
	if m.Policy == Loop {
		m.claimEachLoss(math.MaxUint64, func(first, last uint64) {})
	} else {
		for i := range h.lossAccounts {
			h.lossAccounts[i].overflow.Store(1)
			m.endStop(&h.lossAccounts[i], 0, math.MaxUint64)
		}
	}
	h.pendingOverflow.Store(0)
	h.gapEnd.Store(0)
	h.gapNext.Store(0)
	h.autoStop.Store(0)
	h.recordedOverflow.Store(0)
}

// loss is an interval in which events were lost that are not yet reported.
type loss struct {
	any         bool
	first, last uint64
}

func (l *loss) add(first, last uint64) {
	if first == 0 {
		first = last // the writer has not stored it yet
	}
	if !l.any || first < l.first {
		l.first = first
	}
	l.any, l.last = true, max(l.last, last)
}

// unreported returns the unreported losses of a LOOP stream.
func (m *Mem) unreported() (l loss) {
	for i := range m.Chunks {
		d := m.at(i)
		if d.lost.Load()&lossMask != d.reported.Load() {
			l.add(d.lostFirst.Load(), d.lostLast.Load())
		}
	}
	if a := &m.h.lossAccounts[0]; a.total() != a.reported.Load() {
		l.add(a.first.Load(), a.last.Load())
	}
	return
}

// unaccounted returns how many events of chunk i, which a writer is overwriting, are lost and not yet
// counted, and the time of the loss.
func (m *Mem) unaccounted(i int) (n int, l loss) {
	d := m.at(i)
	c := ctl(d.ctl.Load())
	if c.state() != claiming || d.lost.Load()>>genShift == (c.gen()+1)&genMask {
		return 0, loss{}
	}
	done := m.consumedOf(i, c)
	if n = c.count() - done; n <= 0 {
		return 0, loss{}
	}
	l.add(span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), done, 0))
	if ctl(d.ctl.Load()) != c || d.lost.Load()>>genShift == (c.gen()+1)&genMask {
		return 0, loss{} // the claimer goes on
	}
	return n, l
}

// LostInClaims is how many lost events the accounts lack because the writers that overwrite them are
// stopped. It is for a stream that ends.
func (m *Mem) LostInClaims() (total uint64) {
	for i := range m.Chunks {
		n, _ := m.unaccounted(i)
		total += uint64(n)
	}
	return total
}

// claimLosses returns the unreported losses to a caller that reports them, as far as they began up to tick
// before. More may be lost meanwhile: only the result is marked as reported.
func (m *Mem) claimLosses(before uint64) (l loss) {
	m.claimEachLoss(before, func(first, last uint64) { l.add(first, last) })
	return
}

// accountTries bounds how often an account that changes meanwhile is read again.
const accountTries = 20

// claimEachLoss claims as claimLosses does. It calls add for each chunk's losses, and once for those for
// lack of a chunk.
func (m *Mem) claimEachLoss(before uint64, add func(first, last uint64)) {
	for i := range m.Chunks {
		d := m.at(i)
		for try := 0; ; try++ {
			c := d.ctl.Load()
			n := d.lost.Load() & lossMask
			if n == d.reported.Load() {
				break
			}
			first, last := d.lostFirst.Load(), d.lostLast.Load()
			if try < accountTries && (ctl(c).state() == claiming || d.ctl.Load() != c && d.lost.Load()&lossMask != n) {
				runtime.Gosched() // a writer is adding to it
				continue
			}
			if first <= before {
				add(first, last)
				d.reported.Store(n)
			}
			break
		}
	}
	a := &m.h.lossAccounts[0]
	n := a.total()
	if n == a.reported.Load() || a.first.Load() > before {
		return
	}
	last := a.last.Load()
	add(a.first.Swap(0), last)
	a.reported.Store(n)
}
