package stream

import "testing"

// checkWritable checks, in a stream where no process is in the middle of an event and the dead have been
// recovered, that each chunk that its owner or any writer appends to has one entry of the tables (protocol.go).
func checkWritable(t testing.TB, m *Mem) {
	t.Helper()
	entries := make([]int, m.Chunks)
	for p := range m.Permits {
		v := m.h.permitTable[p].Load()
		i := int(uint32(v)) - 1
		if i < 0 || i >= m.Chunks {
			continue
		}
		c := word(m, i)
		if v&displaced != 0 && c.state() == open && !m.registered(i) || c.state() == owned && c.slot() == permitSlot(v) {
			entries[i]++
		}
	}
	for o := range m.OpenChunks {
		if v := m.h.openTable[o].Load(); m.isOpenRef(v) && word(m, int(v-1)).state() == open {
			entries[v-1]++
		}
	}
	for i, n := range entries {
		if c := word(m, i); n != 1 && (c.state() == owned || c.state() == open) || n > 1 {
			t.Errorf("chunk %d, in state %d, has %d entries", i, c.state(), n)
		}
	}
}
