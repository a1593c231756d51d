package stream

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// TestFlushDividesManyMarks has a LOOP stream lose events of a fast writer between the events of a slow
// one. A flush then has more marks than fit into a block of the log.
func TestFlushDividesManyMarks(t *testing.T) {
	const chunks = 200
	size := int64(dataOffset(chunks) + chunks*4096 + pendingSize(1024))
	g := Geometry{ChunkSize: 4096, Chunks: chunks, Permits: 4, OpenChunks: 2, MinSize: 64 << 10, Size: size}
	words := make([]atomic.Uint64, size/8+8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	m, err := Format(b, &Config{Geometry: g, ID: 1, Attributes: attributes(1024, Loop), Creator: sys.SelfProc()}, true)
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := newWriter(t, m, 1), newWriter(t, m, 1)
	m.Start(slow, Event{})
	y := newTally(t, 2)
	y.order = false
	e := Event{ID: event.FirstUser}
	n, i := uint64(0), 0
	for k := uint64(0); m.Lost() < 3*140; k++ {
		if n == 0 || word(m, i).state() == owned {
			slow.Record(0, &e, stamp(nil, 0, n, 12))
			n++
		}
		if n == 1 {
			i = int(slow.shard(0).tag.Load() & idxMask)
		}
		for j := range uint64(3) { // a chunk, which will be overwritten
			fast.Record(0, &e, stamp(nil, 1, 3*k+j, 1000))
		}
	}
	if c := word(m, i); c.state() != full {
		t.Fatalf("the slow writer's chunk is in state %d", c.state())
	}
	var marks []chunk.Record
	if _, err := flushTo(m, slow.Slot(), func(b *Block) error {
		if len(b.Payload) > m.ChunkSize {
			t.Errorf("a block of %d bytes", len(b.Payload))
		}
		if b.Index >= 0 {
			return y.block(b)
		}
		var cur chunk.Cursor
		var rec chunk.Record
		count := 0
		for cur.Reset(b.Payload, b.Base); ; count++ {
			if ok, err := cur.Next(&rec); !ok || err != nil {
				break
			}
			if rec.Tick < b.Min || rec.Tick > b.Max {
				t.Errorf("a mark of tick %d in a block from %d to %d", rec.Tick, b.Min, b.Max)
			}
			marks = append(marks, rec)
		}
		if count != b.Count {
			t.Errorf("%d marks in a block of %d", count, b.Count)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	over := event.ID(0)
	pairs := 0
	for _, r := range marks {
		if r.Event == event.Overflow || r.Event == event.Resume {
			if r.Event == over {
				t.Errorf("%v twice", r.Event)
			}
			over = r.Event
			pairs++
		}
	}
	if pairs < 200 || y.got[0] != n {
		t.Errorf("%d marks, %d of %d events of the slow writer", pairs, y.got[0], n)
	}
}
