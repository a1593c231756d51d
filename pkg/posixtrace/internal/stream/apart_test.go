package stream

import (
	"testing"
	"unsafe"
)

// A writer loads or stores some words of the stream for each event. No other process may store to
// their cache lines for each event that it reads, or each chunk that it claims: each process
// would wait for the other's line.
func TestWordsOfEachEventLieOnLinesOfTheirOwn(t *testing.T) {
	const line = 64
	var h header
	var d desc
	type word struct {
		name   string
		offset uintptr
		size   uintptr
	}
	apart := func(what string, ours, others []word) {
		for _, a := range ours {
			for _, b := range others {
				if a.offset/line <= (b.offset+b.size-1)/line && b.offset/line <= (a.offset+a.size-1)/line {
					t.Errorf("%s: %s, at %d, shares a cache line with %s, at %d", what, a.name, a.offset, b.name, b.offset)
				}
			}
		}
	}
	apart("header", []word{
		{"state", unsafe.Offsetof(h.state), 8},
		{"tickOffset", unsafe.Offsetof(h.tickOffset), 8},
		{"horizon", unsafe.Offsetof(h.horizon), 8},
		{"filter", unsafe.Offsetof(h.filter), unsafe.Sizeof(h.filter)},
	}, []word{
		{"readLock", unsafe.Offsetof(h.readLock), 8}, // each event read
		{"lastTick", unsafe.Offsetof(h.lastTick), 8},
		{"late", unsafe.Offsetof(h.late), 8},
		{"seq", unsafe.Offsetof(h.seq), 8}, // each chunk
		{"partials", unsafe.Offsetof(h.partials), 8},
		{"losses", unsafe.Offsetof(h.losses), 8},
		{"lossAccounts", unsafe.Offsetof(h.lossAccounts), unsafe.Sizeof(h.lossAccounts)},
		{"permitTable", unsafe.Offsetof(h.permitTable), unsafe.Sizeof(h.permitTable)},
		{"openTable", unsafe.Offsetof(h.openTable), unsafe.Sizeof(h.openTable)},
	})
	apart("chunk", []word{{"ctl", unsafe.Offsetof(d.ctl), 8}}, []word{
		{"read", unsafe.Offsetof(d.read), 8}, // each event read
		{"reported", unsafe.Offsetof(d.reported), 8},
	})
	if unsafe.Sizeof(d) != descSize || descSize%line != 0 {
		t.Errorf("a descriptor has %d bytes", unsafe.Sizeof(d))
	}
	for chunks := range 200 {
		if descOffset(chunks)%line != 0 || dataOffset(chunks)%line != 0 || agesOffset()%line != 0 || freeOffset(chunks)%line != 0 {
			t.Errorf("of %d chunks, descriptors or data do not start on a cache line", chunks)
		}
	}
	if n := shardSize - int(unsafe.Offsetof(shard{}.cache)+unsafe.Sizeof(shard{}.cache)); n < line {
		t.Errorf("the words of two shards are %d bytes apart", n)
	}
}
