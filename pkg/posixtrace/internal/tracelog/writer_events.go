package tracelog

import (
	"cmp"
	"fmt"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// EventsBlock is a chunk for the log.
type EventsBlock struct {
	Payload []byte // the records; they must not change during the call
	Base    uint64 // of the chunk's first deltas
	Chunk   uint32 // number of the chunk in the stream
	Gen     uint32 // generation of the chunk

	// Types, if set, is the types in the chunk, and MinTick, MaxTick and Count must be right.
	// Otherwise Events goes through the chunk and finds all four.
	Types            *Coarse
	MinTick, MaxTick uint64
	Count            int

	// Final marks the automatic STOP that ends an UntilFull log. The log accepts one such block
	// however full it is, under the number FinalChunk.
	Final bool
}

// Chunk numbers of blocks that hold marks of the trace system. No chunk of a stream has these
// numbers.
const (
	FinalChunk = ^uint32(0)     // of the final block of a full log
	MarkChunk  = FinalChunk - 1 // of any other
)

// Events writes a chunk. A chunk without events is no error and writes nothing. Of a malformed
// chunk it writes the sound part, and returns an error that wraps chunk.ErrMalformed. An UntilFull
// log without room returns ErrFull, from then on for every block but the final one.
func (w *Writer) Events(b EventsBlock) error { return w.events(&b, false) }

// events is Events, or Queue if later is set.
func (w *Writer) events(b *EventsBlock, later bool) error {
	if w.sealing {
		return errSealed
	}
	if len(b.Payload) > chunk.Align(int(w.super.ChunkSize)) {
		return fmt.Errorf("log: chunk of %d bytes: %w", len(b.Payload), syscall.EINVAL)
	}
	var malformed error
	sum := Summary{Min: b.MinTick, Max: b.MaxTick, Count: b.Count}
	if b.Types == nil {
		sum, malformed = Summarize(&w.cur, b.Payload, b.Base)
		b.Payload, b.Types = b.Payload[:sum.Sound], &sum.Types
		b.MinTick, b.MaxTick, b.Count = sum.Min, sum.Max, sum.Count
	}
	if b.Count == 0 {
		return malformed
	}
	sum.Types = *b.Types
	if b.Final {
		b.Chunk, b.Gen = FinalChunk, 0
	}
	h := header{Kind: KindEvents, Min: b.MinTick, Max: b.MaxTick, Base: b.Base, Count: uint32(b.Count), Chunk: b.Chunk, Gen: b.Gen}
	h.ID, h.Len = w.super.ID, uint32(len(b.Payload))
	if err := h.check(w.super.ID); err != nil {
		return fmt.Errorf("log: chunk %d: %v: %w", b.Chunk, err, syscall.EINVAL)
	}
	if err := w.writePending(); err != nil {
		return err
	}
	if w.super.LogFullPolicy == Loop {
		return cmp.Or(w.fillSlot(b, &sum), malformed)
	}
	if w.super.LogFullPolicy == UntilFull {
		used := w.used + w.queue.bytes() + uint64(len(b.Payload))
		if w.full = w.full || used > w.super.LogSize; w.full && (!b.Final || w.final) {
			return ErrFull
		}
	}
	if later {
		if w.enqueue(&h, b.Payload, b.Types); malformed != nil {
			// The caller counts the damage when the sound part is in the log.
			return cmp.Or(w.commit(), malformed)
		}
		return nil
	}
	if err := w.append(&h, b.Payload, b.Types); err != nil {
		return err
	}
	w.used += uint64(h.Len)
	w.totals.add(&h)
	if w.super.LogFullPolicy == UntilFull {
		w.final = b.Final
		w.full = w.full || w.final
	}
	return malformed
}

func (t *Totals) add(h *header) {
	t.Blocks++
	t.Events += uint64(h.Count)
	t.Bytes += uint64(h.Len)
}
