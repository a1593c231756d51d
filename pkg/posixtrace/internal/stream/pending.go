package stream

import (
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// The pending record.
//
// RESUME stands immediately before an event. Once RESUME is reported, that event must not be
// overwritten any more, so a Reader consumes it first. Until the event itself is reported it lies
// behind the chunks as the pending record, for the next process that reads. That need not be the
// process that reported RESUME, which may be dead by then.

// pendingSize is how much room the pending record takes.
func pendingSize(maxData int) int {
	return align64(chunk.FullSize + chunk.Align(max(maxData, MaxSystemData)))
}

// The header's word about the pending record: clears at that time 32 | count 14 | size 18. The
// count lets a process that copies the record see that it has changed.
const (
	pendingSeq   = 1 << 18
	pendingLen   = pendingSeq - 1
	pendingCount = (1<<14 - 1) * pendingSeq
)

func (m *Mem) pendingBytes() []byte {
	p := unsafe.Add(m.data, m.Chunks*m.ChunkSize)
	return unsafe.Slice((*byte)(p), pendingSize(m.MaxData))
}

// setPending stores an event that is consumed and not reported. It returns false if the event is
// larger than any can be. The caller is the only Reader.
func (m *Mem) setPending(rec *chunk.Record, clears uint64) bool {
	b := chunk.AppendFull(nil, rec)
	room := m.pendingBytes()
	if len(b) > len(room) {
		m.h.damage.Add(1)
		return false
	}
	// An exchange, so that the copy does not become visible before it (see probe).
	seq := m.h.pendingRecord.And(^uint64(pendingLen)) + pendingSeq
	copyIn(unsafe.Pointer(unsafe.SliceData(room)), b)
	m.h.pendingRecord.Store(clears<<32 | seq&pendingCount | uint64(len(b)))
	return true
}

// pending returns the pending record, encoded, or nil. A record that was cleared does not exist
// any more.
func (m *Mem) pending() []byte {
	room := m.pendingBytes()
	for range closeTries {
		w := m.h.pendingRecord.Load()
		n := int(w & pendingLen)
		if n == 0 || n > len(room) || n&7 != 0 || w>>32 != uint64(uint32(m.h.clears.Load())) {
			return nil
		}
		b := make([]byte, n)
		snapshot(b, room[:n])
		if m.h.pendingRecord.Add(0) == w { // as probe
			return b
		}
	}
	return nil
}

// dropPending discards the pending record.
func (m *Mem) dropPending() { m.h.pendingRecord.And(^uint64(pendingLen)) }

// decodePending decodes a pending record. It returns false if the record makes no sense.
func (m *Mem) decodePending(b []byte, rec *chunk.Record) bool {
	var cur chunk.Cursor
	cur.Reset(b, 0)
	if ok, err := cur.Next(rec); !ok || err != nil {
		m.h.damage.Add(1)
		return false
	}
	return true
}
