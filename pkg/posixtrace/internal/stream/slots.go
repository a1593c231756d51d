package stream

import (
	"math"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TakeSlot gives process p a slot in the table of writers. A process has one for each of its
// connections. dead reports whether a process is gone; it is nil when the caller does not hold the
// stream's lock, and then no dead writer's slot is reused.
func (m *Mem) TakeSlot(p sys.Proc, dead func(sys.Proc) bool) (uint64, bool) {
	return m.TakeSlotHeld(p, dead, func(uint64) func() { return func() {} })
}

// TakeSlotHeld takes a slot, and calls hold for it before. If another process
// is faster, it calls the function that hold has returned.
func (m *Mem) TakeSlotHeld(p sys.Proc, dead func(sys.Proc) bool, hold func(slot uint64) (release func())) (uint64, bool) {
	me := p.Pack()
	for i := 1; i < MaxSlots; i++ {
		if m.h.slots[i].Load() != 0 {
			continue
		}
		release := hold(uint64(i))
		if m.h.slots[i].CompareAndSwap(0, me) {
			return uint64(i), true
		}
		release()
	}
	if dead == nil {
		return 0, false
	}
	m.Recover(dead)
	return m.TakeSlotHeld(p, nil, hold)
}

// FreeSlot gives a slot back. Its writer must be closed.
func (m *Mem) FreeSlot(slot uint64) {
	if slot > 0 && slot < MaxSlots {
		m.setOwing(slot, false)
		m.h.slots[slot].Store(0)
	}
}

// HasSlot reports whether process p has that slot.
func (m *Mem) HasSlot(slot uint64, p sys.Proc) bool {
	return m.h.slots[slot%MaxSlots].Load() == p.Pack()
}

// Writes reports whether process p has a slot.
func (m *Mem) Writes(p sys.Proc) bool {
	me := p.Pack()
	for i := range m.h.slots {
		if m.h.slots[i].Load() == me {
			return true
		}
	}
	return false
}

// Crowded reports whether most of the permits for owned chunks are taken. When all are, writers use
// open chunks; some owners may be dead (Recover).
func (m *Mem) Crowded() bool {
	n := 0
	for p := range m.Permits {
		if m.h.permitTable[p].Load() != 0 {
			n++
		}
	}
	return 2*n > m.Permits
}

// Recover releases everything that dead processes hold. The chunks that they owned or were claiming
// become readable or free, busy bits that they left are cleared, their slots are given back. The
// published records of a chunk are whole, whatever its writer was doing. The caller holds the
// stream's lock.
func (m *Mem) Recover(dead func(sys.Proc) bool) {
	known := make(map[sys.Proc]bool)
	m.RecoverSlots(func(_ uint64, p sys.Proc) bool {
		d, ok := known[p]
		if !ok {
			d = dead(p)
			known[p] = d
		}
		return d
	})
}

// RecoverSlots recovers like Recover. It asks for each slot whether the process that has it is dead.
func (m *Mem) RecoverSlots(dead func(slot uint64, p sys.Proc) bool) {
	gone, any := m.deadSlots(dead)
	m.recoverFree()
	if !any {
		return
	}
	m.recoverChunks(gone)
	m.recoverPermits(gone)
	m.recoverOpened(gone)
	m.closeAllDisplaced()
	m.reclaimOpen()
	for i := range uint64(MaxSlots) {
		if gone[i] {
			if m.owing(i) {
				m.AddLost(1)
			}
			m.FreeSlot(i)
		}
	}
}

// owing reports whether the writer of a slot has accepted an event that it has not recorded.
func (m *Mem) owing(slot uint64) bool { return m.h.owing[slot/64].Load()>>(slot%64)&1 != 0 }

func (m *Mem) setOwing(slot uint64, owing bool) {
	if owing {
		m.h.owing[slot/64].Or(1 << (slot % 64))
	} else if m.owing(slot) {
		m.h.owing[slot/64].And(^(uint64(1) << (slot % 64)))
	}
}

// slotSet has an element for each slot.
type slotSet [MaxSlots]bool

// deadSlots returns the slots of dead processes, and whether there are any.
func (m *Mem) deadSlots(dead func(slot uint64, p sys.Proc) bool) (gone *slotSet, any bool) {
	gone = new(slotSet)
	for i := 1; i < MaxSlots; i++ {
		if v := m.h.slots[i].Load(); v != 0 {
			gone[i] = dead(uint64(i), sys.Unpack(v))
			any = any || gone[i]
		}
	}
	return gone, any
}

// recoverFree completes the map of free chunks: a process may have been killed while it freed one.
func (m *Mem) recoverFree() {
	for i := range m.Chunks {
		if ctl(m.at(i).ctl.Load()).state() == free {
			m.setFree(i)
		}
	}
}

// recoverChunks gives up the chunks of dead processes.
func (m *Mem) recoverChunks(gone *slotSet) {
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() == partial {
			m.setPartialHint() // the process that left it may have been killed before it said so
		}
		if !gone[c.slot()] {
			continue
		}
		switch c.state() {
		case claiming:
			m.empty(i, c)
			m.release(i)
		case owned:
			if c.busy() {
				c, _ = d.unseize(c)
			}
			m.park(i, c)
		case leaving:
			if m.renewing(i, c) {
				d.renew(c, full)
			} else {
				d.handBack(c, full)
			}
		case open:
			d.unseize(c)
		}
	}
}

// renewing reports whether chunk i has the words of its next generation: its process was killed
// in parkUnwritten. It completes them.
func (m *Mem) renewing(i int, c ctl) bool {
	d := m.at(i)
	next := c.renewed().gen()
	r, w := readWord(d.read.Load()), readWord(d.cleared.Load())
	if r.gen() == next {
		return true
	}
	if w&wasCleared == 0 || w.gen() != next {
		return false
	}
	return d.read.CompareAndSwap(uint64(r), uint64(r.renewed(c)))
}

// recoverPermits gives up the permits of dead processes among the owners of chunks.
func (m *Mem) recoverPermits(gone *slotSet) {
	for p := range m.Permits {
		if v := m.h.permitTable[p].Load(); v != 0 && v&displaced == 0 && gone[permitSlot(v)] {
			m.h.permitTable[p].CompareAndSwap(v, 0)
		}
	}
}

// recoverOpened gives up entries of the table of open chunks that dead processes have reserved.
func (m *Mem) recoverOpened(gone *slotSet) {
	for o := range m.OpenChunks {
		if v := m.h.openTable[o].Load(); v&reserved != 0 && gone[v%MaxSlots] {
			if old := m.replaces(v); old != 0 {
				m.setAge(int(old - 1))
			}
			m.h.openTable[o].CompareAndSwap(v, 0)
		}
	}
}

// reclaimOpen gives up open chunks that writers do not find: the writer died, or was
// replaced, before it had registered the chunk.
func (m *Mem) reclaimOpen() {
	for i := range m.Chunks {
		if c := ctl(m.at(i).ctl.Load()); m.unreachable(i, c) {
			m.closeFound(i, c, false)
		}
	}
}

// AddMissed counts a process that is traced and could not become a writer.
func (m *Mem) AddMissed(no uint32) { m.h.addMissed(no) }

func (h *header) addMissed(no uint32) {
	h.missedErr.Store(no)
	if n := h.missed.Load(); n < math.MaxUint32 {
		h.missed.CompareAndSwap(n, n+1)
	}
}

// StartSize is the size of the part of a file that CountMissed needs.
const StartSize = 4096

// CountMissed counts a miss in b, the first StartSize bytes of the file of stream id, which may have
// another version. It reports whether b is the start of such a file.
func CountMissed(b []byte, id uint64, no uint32) bool {
	if len(b) < StartSize {
		return false
	}
	h := (*header)(unsafe.Pointer(&b[0]))
	if h.magic != magic || h.id != id {
		return false
	}
	h.addMissed(no)
	return true
}
