package stream

import (
	"math"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TakeSlot gives process p a place in the table of writers. A process has one
// for each of its connections. dead tells which processes are gone; it is nil when the
// caller does not hold the stream's lock, and then no dead writer's slot is reused.
func (m *Mem) TakeSlot(p sys.Proc, dead func(sys.Proc) bool) (uint64, bool) {
	return m.TakeSlotHeld(p, dead, func(uint64) func() { return func() {} })
}

// TakeSlotHeld is TakeSlot that calls hold for a slot before it is taken, and then, if
// another was faster, the function that hold has returned.
func (m *Mem) TakeSlotHeld(p sys.Proc, dead func(sys.Proc) bool, hold func(slot uint64) (let func())) (uint64, bool) {
	me := p.Pack()
	for i := 1; i < MaxSlots; i++ {
		if m.h.slots[i].Load() != 0 {
			continue
		}
		let := hold(uint64(i))
		if m.h.slots[i].CompareAndSwap(0, me) {
			return uint64(i), true
		}
		let()
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
		m.h.slots[slot].Store(0)
	}
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

// Crowded reports whether most of the chunks that may be owned at once are. When
// all are, writers use open chunks; perhaps some owners are dead (Recover).
func (m *Mem) Crowded() bool {
	n := 0
	for p := range m.Places {
		if m.h.placed[p].Load() != 0 {
			n++
		}
	}
	return 2*n > m.Places
}

// Recover takes everything that dead processes hold: chunks they own or were claiming
// become readable or free, busy bits they left are cleared, their slots
// are given back. A chunk's published records are whole whatever its writer was
// doing. The caller holds the stream's lock.
func (m *Mem) Recover(dead func(sys.Proc) bool) {
	known := make(map[sys.Proc]bool)
	m.RecoverSlots(func(_ uint64, p sys.Proc) bool {
		d, seen := known[p]
		if !seen {
			d = dead(p)
			known[p] = d
		}
		return d
	})
}

// RecoverSlots is Recover that asks for each slot which process has taken.
func (m *Mem) RecoverSlots(dead func(slot uint64, p sys.Proc) bool) {
	var gone [MaxSlots]bool
	any := false
	for i := 1; i < MaxSlots; i++ {
		if v := m.h.slots[i].Load(); v != 0 {
			gone[i] = dead(uint64(i), sys.Unpack(v))
			any = any || gone[i]
		}
	}
	for i := range m.Chunks {
		if ctl(m.at(i).ctl.Load()).state() == free {
			m.setFree(i) // a process killed while it freed the chunk
		}
	}
	if !any {
		return
	}
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() == loose {
			m.oneLoose() // perhaps it was not said
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
				n := c &^ busyBit
				d.ctl.CompareAndSwap(uint64(c), uint64(n))
				c = n
			}
			m.loosen(i, c)
		case leaving:
			n := c.with(0, full)
			if readWord(d.read.Load()).gen() == n.renewed().gen() {
				n = n.renewed() // a process killed in reopen
			}
			d.ctl.CompareAndSwap(uint64(c), uint64(n))
		case open:
			d.ctl.CompareAndSwap(uint64(c), uint64(c.with(0, open)))
		}
	}
	for p := range m.Places {
		if v := m.h.placed[p].Load(); v != 0 && gone[v>>32%MaxSlots] {
			m.h.placed[p].CompareAndSwap(v, 0)
		}
	}
	for o := range m.Opens {
		if v := m.h.opened[o].Load(); v&reserved != 0 && gone[v%MaxSlots] {
			m.h.opened[o].CompareAndSwap(v, 0)
		}
	}
	m.closeAllAside()
	m.reclaimOpen()
	for i := range gone {
		if gone[i] {
			m.h.slots[i].Store(0)
		}
	}
}

// reclaimOpen gives up open chunks that no writer finds: it died, or was
// replaced, before it had registered them.
func (m *Mem) reclaimOpen() {
	for i := range m.Chunks {
		if c := ctl(m.at(i).ctl.Load()); m.forgotten(i, c) {
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

// CountMissed is AddMissed for the first HeaderSize bytes of the file of stream id. It
// reports whether they are that.
func CountMissed(b []byte, id uint64, no uint32) bool {
	if len(b) < headerSize {
		return false
	}
	h := (*header)(unsafe.Pointer(&b[0]))
	if h.magic != magic || h.version != version || h.id != id {
		return false
	}
	h.addMissed(no)
	return true
}
