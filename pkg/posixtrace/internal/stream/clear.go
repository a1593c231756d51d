package stream

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

// Clear frees the chunks. It cannot free a busy chunk: its writer publishes the event when it continues.
// So Clear records an offset, and readers skip the events before it, and the unfinished one, if its
// writer loaded the state before the clear. The event's time shows that, because a writer reads the
// clock before it loads the state again.

// wasCleared marks such an offset.
const wasCleared = frozenBit

// clearBusy clears chunk i, which cannot be freed, by a clear at tick.
func (m *Mem) clearBusy(i int, c ctl, tick uint64) {
	d := m.at(i)
	if c.state() != claiming { // else it is about to be emptied
		d.cleared.Store(0)
		d.clearedAt.Store(tick)
		d.cleared.Store(uint64(makeRead(c.gen()).at(c.count(), c.off()) | wasCleared))
	}
	for range closeTries {
		w := readWord(d.read.Load())
		if w.gen() != c.gen() || w.frozen() || w.count() >= c.count() ||
			d.read.CompareAndSwap(uint64(w), uint64(w.at(c.count(), c.off()))) {
			return
		}
	}
}

// clearedOf returns how many events at the start of chunk i were cleared.
func (m *Mem) clearedOf(i int, c ctl) int {
	d := m.at(i)
	w := readWord(d.cleared.Load())
	if w&wasCleared == 0 || w.gen() != c.gen() {
		return 0
	}
	n := min(w.count(), c.count())
	if c.count() > n {
		first, _ := span(m.bytes(i)[:min(c.off(), m.ChunkSize)], d.base.Load(), n, ^uint64(0))
		if first < d.clearedAt.Load() {
			n++
		}
	}
	return n
}

// without returns the records of a chunk less its first n events. Sites and bases that the other
// events need stay.
func without(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for n > 0 && len(b) >= chunk.HeaderSize {
		h := le64(b)
		num := uint16(h>>48) &^ chunk.Truncated
		size := chunk.HeaderSize + chunk.Align(int(uint16(h>>32)))
		if num == chunk.KindFull {
			size += chunk.FullSize - chunk.HeaderSize
		}
		if size > len(b) {
			break
		}
		switch num {
		case chunk.KindSite, chunk.KindBase:
			out = append(out, b[:size]...)
		case chunk.KindPad:
			if chunk.IsMap(h) { // later events have these addresses, too
				out = append(out, b[:size]...)
			}
		default:
			n--
		}
		b = b[size:]
	}
	return append(out, b...)
}
