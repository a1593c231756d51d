package tracelog

import (
	"encoding/binary"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Coarse is a superset of the event types in a block: bit i stands for the eight types from 8i on.
type Coarse [int(event.Max) / 8 / 64]uint64

// Add makes id one of the types.
func (c *Coarse) Add(id event.ID) { c[id>>9&7] |= 1 << (id >> 3 & 63) }

// CoarseSet returns the coarse form of a set.
func CoarseSet(s *event.Set) (c Coarse) {
	for id := event.ID(1); id < event.Max; id++ {
		if s.Has(id) {
			c.Add(id)
		}
	}
	return
}

func (c *Coarse) overlaps(d *Coarse) bool {
	for i := range c {
		if c[i]&d[i] != 0 {
			return true
		}
	}
	return false
}

// entry describes one block in the index. The index has blocks of events, types, clock anchors and
// status.
type entry struct {
	Off      int64
	Seq      uint64
	Min, Max uint64
	Count    uint32
	Kind     Kind
	Types    Coarse

	bytes uint64 // of the payload; not in the file
	marks uint64 // events that are marks of the trace system; not in the file
}

const (
	entrySize = 40 + 8*len(Coarse{})
	// indexEntries is how many entries make a part of the index. Parts are written as the log
	// grows, so that the writer need not keep them; each names the one before.
	indexEntries = 512
	indexFixed   = 16
)

// A part of the index is the offset of the part before u64 (0: none), count u32, zero
// u32, then entries: offset u64, sequence u64, min tick u64, max tick u64, count
// u32, kind u32, coarse types 64 bytes.
func encodeIndex(prev int64, entries []entry) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, indexFixed+len(entries)*entrySize)
	b = le.AppendUint64(b, uint64(prev))
	b = le.AppendUint32(b, uint32(len(entries)))
	b = le.AppendUint32(b, 0)
	for i := range entries {
		e := &entries[i]
		b = le.AppendUint64(b, uint64(e.Off))
		b = le.AppendUint64(b, e.Seq)
		b = le.AppendUint64(b, e.Min)
		b = le.AppendUint64(b, e.Max)
		b = le.AppendUint32(b, e.Count)
		b = le.AppendUint32(b, uint32(e.Kind))
		for _, w := range e.Types {
			b = le.AppendUint64(b, w)
		}
	}
	return b
}

// decodeIndex decodes a part of the index, into buf if that is large enough.
func decodeIndex(b []byte, buf []entry) (prev int64, entries []entry, err error) {
	le := binary.LittleEndian
	if len(b) < indexFixed || (len(b)-indexFixed)%entrySize != 0 {
		return 0, nil, errPayload
	}
	n := (len(b) - indexFixed) / entrySize
	if int64(le.Uint32(b[8:])) != int64(n) {
		return 0, nil, errPayload
	}
	prev = int64(le.Uint64(b))
	entries = slices.Grow(buf[:0], n)[:n]
	for i := range entries {
		p := b[indexFixed+i*entrySize:]
		e := &entries[i]
		*e = entry{}
		e.Off = int64(le.Uint64(p))
		e.Seq = le.Uint64(p[8:])
		e.Min = le.Uint64(p[16:])
		e.Max = le.Uint64(p[24:])
		e.Count = le.Uint32(p[32:])
		e.Kind = Kind(le.Uint32(p[36:]))
		for j := range e.Types {
			e.Types[j] = le.Uint64(p[40+8*j:])
		}
	}
	return prev, entries, nil
}

// Summary describes a chunk's events for its header and the index.
type Summary struct {
	Min, Max uint64
	Count    int
	Types    Coarse

	Sorted bool // times never fall, and RESUME precedes other events of its time
	Full   bool // all are full records
	Maps   bool // there are notes on mappings
	Sound  int  // how many bytes decode; all unless there is an error
}

// Summarize goes through the events of a chunk. It uses cur, which the caller may reuse.
func Summarize(cur *chunk.Cursor, payload []byte, base uint64) (s Summary, err error) {
	cur.Reset(payload, base)
	return summarize(cur)
}

// summarize goes through the events that cur yields.
func summarize(cur *chunk.Cursor) (s Summary, err error) {
	s, err = skim(cur)
	cur.Met(func(c *chunk.Count) { s.Types.Add(c.Event) })
	if s.Maps = cur.HasMaps(); s.Maps {
		s.Types.Add(event.ProcMap)
	}
	return s, err
}

// skim summarizes without types.
func skim(cur *chunk.Cursor) (s Summary, err error) {
	s.Sorted = true
	var rec chunk.Record
	for last := uint64(0); ; {
		if s.Count > 0 {
			n := 0
			n, last = cur.Skim(last)
			s.Count += n
			s.Max = max(s.Max, last)
		}
		ok, err := cur.Next(&rec)
		if !ok {
			s.Sound, s.Full = cur.Offset(), cur.Sites() == 0
			return s, err
		}
		switch {
		case s.Count == 0:
			s.Min, s.Max = rec.Tick, rec.Tick
		case rec.Tick < last || rec.Tick == last && rank(rec.Event) == 0:
			s.Sorted = false
			s.Min = min(s.Min, rec.Tick)
		default:
			s.Max = max(s.Max, rec.Tick)
		}
		last = rec.Tick
		s.Count++
		s.Types.Add(rec.Event)
	}
}
