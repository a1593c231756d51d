package tracelog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// clearSlot empties a slot that was given up for events that could then not be written.
func (w *Writer) clearSlot() error {
	if !w.stale {
		return nil
	}
	if err := w.out.put(w.super.slotAt(w.nextSlot), make([]byte, slotHead), nil); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	w.stale = false
	return nil
}

// dropSlot removes slot i, which is about to be overwritten, from the accounts: it is lost whether or
// not the write succeeds.
func (w *Writer) dropSlot(i int) *entry {
	for len(w.slots) <= i {
		w.slots = append(w.slots, entry{})
	}
	s := &w.slots[i]
	if old := *s; old.Seq != 0 {
		*s, w.stale = entry{}, true
		w.full = true
		w.replaced += uint64(old.Count)
		w.marksGone += old.marks
		w.totals.Blocks--
		w.totals.Events -= uint64(old.Count)
		w.totals.Bytes -= old.bytes
	}
	return s
}

// filling is the slot of a Loop log that is being filled.
type filling struct {
	payload    []byte // up to the end of what the header in force covers
	slot       int    // -1: none
	first      uint64 // sequence number with which it was started
	side       int    // the header to write next
	synced     bool   // a header of it is on the device,
	syncedSide int    // this one
}

// minRoom is the room in a slot from which on a chunk is split.
const minRoom = 96

// fillSlot writes a chunk behind those in the slot that is being filled, as far as there is room, and
// the rest into the next slot, over the oldest.
func (w *Writer) fillSlot(b *EventsBlock, sum *Summary) error {
	lead := b.lead(sum, b.Base)
	room := w.super.slotRoom() - len(w.fill.payload) - len(lead)
	p := w.withoutNotes(b.Payload, sum)
	switch {
	case w.fill.slot < 0:
	case len(p) <= room:
		return w.grow(b, sum, lead, p, 0)
	case room >= minRoom:
		n, sites, base := splitPoint(p, b.Base, room)
		if n == 0 {
			break
		}
		// The rest must fit into a slot, whatever records the chunk consists of.
		rest := append(sites, p[n:]...)
		head, err := Summarize(&w.cur, p[:n], b.Base)
		if err != nil || head.Count == 0 {
			break
		}
		tail, err := Summarize(&w.cur, rest, base)
		if err != nil || tail.Count == 0 || head.Count+tail.Count != sum.Count || len(rest) > chunk.Align(int(w.super.ChunkSize)) {
			break
		}
		return w.fillSplit(b, &head, lead, p[:n], &tail, b.lead(&tail, base), rest)
	}
	if w.repeatsMaps() {
		p = b.Payload
	}
	return w.startSlot(b, sum, lead, p)
}

// fillSplit writes the two parts of a chunk. If the second fails, the first no longer counts.
func (w *Writer) fillSplit(b *EventsBlock, head *Summary, lead, first []byte, tail *Summary, lead2, rest []byte) error {
	fill, old := w.fill, w.slots[w.fill.slot]
	if err := w.grow(b, head, lead, first, continues); err != nil {
		return err
	}
	err := w.startSlot(b, tail, lead2, rest)
	if err != nil {
		gone := w.totals
		w.slots[fill.slot] = old
		w.totals = Totals{gone.Blocks, gone.Events - uint64(head.Count), gone.Bytes - uint64(len(lead)+len(first))}
		w.fill = fill
	}
	return err
}

// lead returns the record before a chunk, or a part of one, in a slot.
func (b *EventsBlock) lead(sum *Summary, base uint64) []byte {
	if b.Chunk >= MarkChunk && sum.Full {
		return chunk.AppendMarksJoint(nil)
	}
	return chunk.AppendJoint(nil, b.Chunk, b.Gen, base)
}

// grow writes a chunk into the slot that is being filled. If that fails, the previous contents are
// still in force.
func (w *Writer) grow(b *EventsBlock, sum *Summary, lead, payload []byte, flags uint32) error {
	f := &w.fill
	at, end := w.super.slotAt(f.slot), len(f.payload)
	all := append(append(f.payload, lead...), payload...)
	f.payload = all[:end] // but keep the memory
	if err := w.out.put(at+slotHead+int64(end), all[end:], nil); err != nil {
		return w.slotFailed(err)
	}
	if f.synced && f.syncedSide == f.side {
		// Sync keeps an error for the next caller that asks for the log to be on its
		// device.
		w.Sync()
	}
	s := w.slots[f.slot]
	s.Seq, s.Count = w.seq, s.Count+uint32(sum.Count)
	s.Min, s.Max = min(s.Min, sum.Min), max(s.Max, sum.Max)
	w.enter(&s, b, sum, len(all)-end)
	raw := w.slotHeader(&s, all, f.first, flags)
	if err := w.out.put(at+int64(f.side)*headerSize, raw[:], nil); err != nil {
		return w.slotFailed(err)
	}
	w.slots[f.slot] = s
	w.noteMaps(all[end:], sum)
	w.totals.Events += uint64(sum.Count)
	w.totals.Bytes += uint64(len(all) - end)
	f.payload, f.side = all, f.side^1
	w.seq++
	return nil
}

// startSlot writes a chunk into the next slot, over the oldest.
func (w *Writer) startSlot(b *EventsBlock, sum *Summary, lead, payload []byte) error {
	at := w.super.slotAt(w.nextSlot)
	w.dropSlot(w.nextSlot)
	if w.repeatsMaps() {
		w.noted = w.noted[:0]
	}
	w.spare = append(append(w.spare[:0], lead...), payload...)
	all := w.spare
	if err := w.out.put(at+slotHead, all, nil); err != nil {
		return w.slotFailed(err)
	}
	s := entry{Off: at, Seq: w.seq, Min: sum.Min, Max: sum.Max, Count: uint32(sum.Count), Kind: KindEvents}
	w.enter(&s, b, sum, len(all))
	// The first header is zero, and the second is written last: until all of this is in the
	// file the slot has no header.
	var raw [2 * headerSize]byte
	copy(raw[headerSize:], w.slotHeader(&s, all, w.seq, 0)[:])
	if err := w.out.put(at, raw[:], nil); err != nil {
		return w.slotFailed(err)
	}
	w.slots[w.nextSlot] = s
	w.totals.Blocks++
	w.totals.Events += uint64(sum.Count)
	w.totals.Bytes += uint64(len(all))
	w.spare = w.fill.payload
	w.fill = filling{payload: all, slot: w.nextSlot, first: w.seq}
	w.nextSlot, w.stale = (w.nextSlot+1)%int(w.super.Slots), false
	w.noteMaps(all, sum)
	w.seq++
	return nil
}

// slotFailed is called when a slot could not be written. Its header, or that of the first part of a
// chunk, may have been written nevertheless: neither its sequence number nor the one that would
// confirm it is used again.
func (w *Writer) slotFailed(err error) error {
	w.seq += 2
	return fmt.Errorf("log: write events: %w", err)
}

// enter adds to the entry of a slot what the slot's header does not contain.
func (w *Writer) enter(s *entry, b *EventsBlock, sum *Summary, n int) {
	s.bytes += uint64(n)
	if b.Chunk >= MarkChunk {
		s.marks += uint64(sum.Count)
	}
	for i := range s.Types {
		s.Types[i] |= sum.Types[i]
	}
}

// slotHeader encodes the header of a slot.
func (w *Writer) slotHeader(s *entry, payload []byte, first uint64, flags uint32) *[headerSize]byte {
	h := header{Kind: KindEvents, Len: uint32(len(payload)), ID: w.super.ID, Seq: s.Seq,
		Min: s.Min, Max: s.Max, Base: first, Count: s.Count, Gen: flags}
	h.encode(&w.head)
	h.CRC = checksum(&w.head, payload)
	le.PutUint32(w.head[60:], h.CRC)
	return &w.head
}

// indexSlots adds the slots of a Loop log to its index.
func (w *Writer) indexSlots() {
	for i := range w.slots {
		if w.slots[i].Seq != 0 {
			w.index = append(w.index, w.slots[i])
		}
	}
}

// Chunks with few events would fill a Loop log with notes on mappings. So it has a note once in some
// slots; a reader finds it there, whether it comes before or behind the event with the address.

const (
	maxNoted    = 256 // notes that are compared
	mostRepeats = 16  // slots for each repetition,
	leastShare  = 4   // but no more than one of so many
)

// repeatsMaps reports whether the next slot has notes that others have, too.
func (w *Writer) repeatsMaps() bool {
	return w.nextSlot%max(1, min(mostRepeats, int(w.super.Slots)/leastShare)) == 0
}

// noteMaps remembers the notes among records, which sum summarizes.
func (w *Writer) noteMaps(records []byte, sum *Summary) {
	if !sum.Maps {
		return
	}
	for len(records) > 0 && len(w.noted) < maxNoted {
		r, ok := recordAt(records)
		if !ok {
			break
		}
		if n := records[:r.size]; chunk.IsMap(le.Uint64(n)) && !w.hasNote(n) {
			w.noted = append(w.noted, bytes.Clone(n))
		}
		records = records[r.size:]
	}
}

func (w *Writer) hasNote(n []byte) bool {
	return slices.ContainsFunc(w.noted, func(m []byte) bool { return bytes.Equal(m, n) })
}

// withoutNotes returns the records of a chunk without the notes that the log has already.
func (w *Writer) withoutNotes(p []byte, sum *Summary) []byte {
	if !sum.Maps || len(w.noted) == 0 {
		return p
	}
	w.slim = w.slim[:0]
	for rest := p; len(rest) > 0; {
		r, ok := recordAt(rest)
		if !ok {
			return p
		}
		if !chunk.IsMap(le.Uint64(rest)) || !w.hasNote(rest[:r.size]) {
			w.slim = append(w.slim, rest[:r.size]...)
		}
		rest = rest[r.size:]
	}
	return w.slim
}
