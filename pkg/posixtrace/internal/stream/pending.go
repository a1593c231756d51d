package stream

import (
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// RESUME stands immediately before an event, so once it has been reported that event
// must not be overwritten any more: it is consumed before. Until it is reported itself it
// lies in a place of its own in the stream, for whoever is the next to read. That need
// not be the one who reported RESUME, who may even be dead by then.

// asideSize is how much room that place takes.
func asideSize(maxData int) int {
	return align64(chunk.FullSize + chunk.Align(max(maxData, MaxSystemData)))
}

// The word that says what lies there: clears at that time 32 | count 14 | size 18. The count is for
// who copies it while it changes.
const (
	asideSeq   = 1 << 18
	asideLen   = asideSeq - 1
	asideCount = (1<<14 - 1) * asideSeq
)

func (m *Mem) asideBytes() []byte {
	p := unsafe.Add(m.data, m.Chunks*m.ChunkSize)
	return unsafe.Slice((*byte)(p), asideSize(m.MaxData))
}

// setAside keeps an event that is consumed. It returns false when the event is larger than
// any can be. The caller is the one reader.
func (m *Mem) setAside(rec *chunk.Record, clears uint64) bool {
	b := chunk.AppendFull(nil, rec)
	room := m.asideBytes()
	if len(b) > len(room) {
		m.h.damage.Add(1)
		return false
	}
	// By an exchange: what is copied must not be seen before it (afterCopy has the reasons).
	seq := m.h.pendingRecord.And(^uint64(asideLen)) + asideSeq
	copyIn(unsafe.Pointer(unsafe.SliceData(room)), b)
	m.h.pendingRecord.Store(clears<<32 | seq&asideCount | uint64(len(b)))
	return true
}

// lookAside returns the event that was set aside, encoded, or nil. What was
// cleared since does not exist any more.
func (m *Mem) lookAside() []byte {
	room := m.asideBytes()
	for range closeTries {
		w := m.h.pendingRecord.Load()
		n := int(w & asideLen)
		if n == 0 || n > len(room) || n&7 != 0 || w>>32 != uint64(uint32(m.h.clears.Load())) {
			return nil
		}
		b := make([]byte, n)
		snapshot(b, room[:n])
		if m.h.pendingRecord.Add(0) == w { // as afterCopy
			return b
		}
	}
	return nil
}

// dropAside gives up the event that was set aside.
func (m *Mem) dropAside() { m.h.pendingRecord.And(^uint64(asideLen)) }

// announced reports the event of a RESUME that was reported before, or of an
// OVERFLOW, which has a RESUME of its own.
func (r *Reader) announced(rec *chunk.Record) bool {
	if r.consume && r.m.h.pendingRecord.Load()&asideLen != 0 {
		r.aside = r.m.lookAside()
	}
	if r.aside == nil {
		return false
	}
	if r.consume {
		r.pending = r.m.h.gapEnd.Load()
	}
	var cur chunk.Cursor
	var k cursor
	cur.Reset(r.aside, 0)
	ok, err := cur.Next(&k.head)
	if ok && err == nil {
		if k.key = k.head.Tick; r.resume(rec, &k) {
			return true
		}
	}
	r.aside = nil
	if r.consume {
		r.m.dropAside()
	}
	if !ok || err != nil {
		r.m.h.damage.Add(1)
		return false
	}
	*rec = k.head
	r.reported(rec)
	return true
}
