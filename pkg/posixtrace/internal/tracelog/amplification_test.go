package tracelog

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// These logs have right checksums and claim more than they contain. Reading one may take no more
// than a multiple of its size: an event without data is 8 bytes in a log and 72 in memory, where a
// chunk has to be sorted first.
const (
	mostFixed  = 64 << 20
	mostFactor = 12
)

// readBounded reads a log in both ways and returns the number of its events.
func readBounded(t *testing.T, log []byte) map[string]int {
	t.Helper()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	limit := before.HeapAlloc + mostFixed + mostFactor*uint64(len(log))
	look := func(way string) {
		if runtime.ReadMemStats(&now); now.HeapAlloc > limit {
			t.Fatalf("%s: %d MiB for a log of %d KiB", way, now.HeapAlloc>>20, len(log)>>10)
		}
	}
	events := map[string]int{}
	bothWays(log, func(way string, r *Reader, err error) {
		if err != nil {
			return
		}
		look(way)
		var rec chunk.Record
		for ok := true; ok; {
			if ok, err = r.Next(&rec); err != nil {
				t.Fatal(err)
			}
			if events[way]%(1<<16) == 0 || !ok {
				look(way)
			}
			if ok {
				events[way]++
			}
			if events[way] > len(log) {
				t.Fatalf("%s: more events than bytes", way)
			}
		}
	})
	return events
}

// bomb is a hand-made log.
type bomb struct {
	b  []byte
	id uint64
}

func newBomb(t *testing.T, change func(s *Super)) *bomb {
	s := superFor(Append)
	s.ID = 77
	if change != nil {
		change(s)
	}
	b, err := s.encode()
	must(t, err)
	return &bomb{b: b, id: 77}
}

// reserve leaves room for a block and returns its offset.
func (l *bomb) reserve(n int) (off int) {
	off = len(l.b)
	l.b = append(l.b, make([]byte, n)...)
	return off
}

// header writes the header of a block whose payload has been written.
func (l *bomb) header(off int, h header) {
	h.ID = l.id
	raw := (*[headerSize]byte)(l.b[off:])
	h.encode(raw)
	h.CRC = checksum(raw, l.b[off+headerSize:off+headerSize+int(h.Len)])
	h.encode(raw)
}

func (l *bomb) seal(index int64, events uint64) []byte {
	off := l.reserve(sealSize)
	s := seal{Index: uint64(index), Length: uint64(len(l.b)), Totals: Totals{Events: events}}
	copy(l.b[off+headerSize:], s.encode())
	l.header(off, header{Kind: KindSeal, Len: sealPayload, Seq: 1 << 40})
	return l.b
}

// index appends a part of the index.
func (l *bomb) index(prev int64, entries []entry) int64 {
	p := encodeIndex(prev, entries)
	at := l.reserve(headerSize + len(p))
	copy(l.b[at+headerSize:], p)
	l.header(at, header{Kind: KindIndex, Len: uint32(len(p)), Seq: 1 << 39})
	return int64(at)
}

func countOf(entries []entry) (n uint64) {
	for i := range entries {
		n += uint64(entries[i].Count)
	}
	return n
}

// Blocks that share bytes, each inside a pad of the one before: together they are hundreds of times
// as large as the file.
func TestNestedBlocksAreRefused(t *testing.T) {
	l := newBomb(t, nil)
	p := chunk.AppendSite(nil, 0, &chunk.Record{Event: 40, PID: 1, TID: 1})
	p = chunk.AppendEvent(p, 1, 0, false, nil)
	const pad = 1<<16 - 8
	p = binary.LittleEndian.AppendUint64(p, chunk.Header(0, pad, chunk.KindPad))
	payload := len(p) + pad
	begin := l.reserve(512 << 10)
	l.reserve(payload)
	var entries []entry
	const step = 128
	for off := begin + 512<<10 - step; off >= begin; off -= step {
		copy(l.b[off+headerSize:], p)
		h := header{Kind: KindEvents, Len: uint32(payload), Seq: uint64(off), Min: 1, Max: 1, Count: 1}
		l.header(off, h)
		entries = append(entries, entry{Off: int64(off), Seq: h.Seq, Min: 1, Max: 1, Count: 1, Kind: KindEvents})
	}
	index := int64(0)
	for part := range slices.Chunk(entries, 1000) {
		index = l.index(index, part)
	}
	log := l.seal(index, countOf(entries))
	readBounded(t, log)
	r := openFile(t, log)
	readAll(t, r)
	wantState(t, r, Damaged)
}

// An index that names one block many times.
func TestRepeatedIndexEntryCountsOnce(t *testing.T) {
	l := newBomb(t, nil)
	p := chunk.AppendSite(nil, 0, &chunk.Record{Event: 40, PID: 1, TID: 1})
	n := uint32(0)
	for ; len(p)+chunk.HeaderSize <= maxPayload; n++ {
		p = chunk.AppendEvent(p, n, 0, false, nil)
	}
	off := l.reserve(headerSize + len(p))
	copy(l.b[off+headerSize:], p)
	l.header(off, header{Kind: KindEvents, Len: uint32(len(p)), Seq: 1, Min: 0, Max: uint64(n - 1), Count: n})
	entries := slices.Repeat([]entry{{Off: int64(off), Seq: 1, Max: uint64(n - 1), Count: n, Kind: KindEvents}}, 1000)
	log := l.seal(l.index(0, entries), countOf(entries))
	if got := readBounded(t, log); got["file"] != int(n) || got["stream"] != int(n) {
		t.Errorf("%v events of a block of %d", got, n)
	}
	wantState(t, openFile(t, log), Damaged)
}

// Parts of an index, each inside the one before.
func TestNestedIndexIsRefused(t *testing.T) {
	l := newBomb(t, nil)
	begin := l.reserve(1 << 20)
	limit := begin + 1<<20
	prev, events := 0, uint64(0)
	// The first part in the file is the last of the chain. Readers require aligned entries, so
	// each part starts a whole number of entries behind the one before; its header is inside an
	// entry whose contents do not matter.
	most := (maxPayload - indexFixed) / entrySize
	for off := begin; off+headerSize+indexFixed+entrySize <= limit; off += 8 * entrySize {
		n := min(most, (limit-off-headerSize-indexFixed)/entrySize)
		copy(l.b[off+headerSize:], encodeIndex(int64(prev), nil))
		binary.LittleEndian.PutUint32(l.b[off+headerSize+8:], uint32(n))
		for i := range n {
			at := off + headerSize + indexFixed + i*entrySize
			if at+entrySize < limit {
				binary.LittleEndian.PutUint64(l.b[at:], uint64(begin)+1)
				binary.LittleEndian.PutUint32(l.b[at+36:], uint32(KindEvents))
			}
		}
		prev = off
	}
	for off := prev; off >= begin; off -= 8 * entrySize {
		n := binary.LittleEndian.Uint32(l.b[off+headerSize+8:])
		l.header(off, header{Kind: KindIndex, Len: indexFixed + n*uint32(entrySize), Seq: uint64(off)})
	}
	log := l.seal(int64(prev), events)
	readBounded(t, log)
	wantState(t, openFile(t, log), Damaged)
}

// Every size that a header can claim, with nothing behind it.
func TestClaimedSizesAllocateNothing(t *testing.T) {
	tried := 0
	try := func(log []byte) {
		tried++
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		bothWays(log, func(_ string, r *Reader, err error) {
			if err == nil {
				readAll(t, r)
			}
		})
		if runtime.ReadMemStats(&now); now.TotalAlloc-before.TotalAlloc > 4<<20 {
			t.Fatalf("%d KiB for a log of %d bytes", (now.TotalAlloc-before.TotalAlloc)>>10, len(log))
		}
	}
	for _, kind := range []Kind{KindEvents, KindTypes, KindAnchors, KindGroup, KindStatus, KindIndex, KindSeal, 0x12345678} {
		for _, size := range []uint32{0, 8, 1 << 16, maxPayload, maxPayload + 8, 1<<31 - 8, 1 << 31, 1<<31 + 8, 1<<32 - 8} {
			for _, count := range []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
				l := newBomb(t, nil)
				off := l.reserve(headerSize + 4096)
				l.header(off, header{Kind: kind, Len: min(size, 4096), Seq: 1, Max: 1, Count: count})
				if size > 4096 {
					binary.LittleEndian.PutUint32(l.b[off+4:], size)
				}
				try(l.b)
			}
		}
	}
	for _, slots := range []uint32{2, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, size := range []uint64{1<<31 - 1, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			l := newBomb(t, func(s *Super) {
				s.LogFullPolicy, s.Slots, s.ChunkSize = Loop, slots, chunk.MaxSize
				s.LogSize, s.MaxDataSize, s.StreamSize, s.ClockResolution = size, size, size, attr.Duration(size)
			})
			l.reserve(4096)
			try(l.b)
		}
	}
	// A seal with offsets beyond all files.
	for _, v := range []int64{1, 1<<31 - 1, 1 << 31, 1<<32 + 1, 1<<63 - 1, -1 << 63, -1} {
		l := newBomb(t, nil)
		l.reserve(4096)
		try(l.seal(v, uint64(v)))
		l = newBomb(t, nil)
		try(l.seal(l.index(v, []entry{{Off: v, Seq: uint64(v), Max: uint64(v), Count: 1, Kind: KindTypes}}), 0))
	}
	t.Logf("%d logs", tried)
}
