package tracelog

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// ErrSealed is returned by Resume for a finished log.
var ErrSealed = errSealed

// Recovered describes the log that Resume has found.
type Recovered struct {
	Super *Super
	Types []TypeDef
	// End is where the log continues. Cut is why its old part ends there: the file ends, or an
	// unsound block followed and was cut off.
	End int64
	Cut error

	chunks chunkSet
}

// Logged reports whether the last use of a chunk in the log is the one with generation gen and base
// base. A stream flushes the uses of a chunk one after the other, so it holds no use that is older
// than the last one logged. Generations wrap, so they do not say which of two uses is later.
func (r *Recovered) Logged(chunk, gen uint32, base uint64) bool {
	return r.chunks.has(chunk, gen, base)
}

// chunkSet maps the number of each chunk in a log to its last use.
type chunkSet map[uint32]use

type use struct {
	gen  uint32
	base uint64
	seq  uint64 // of the block
}

func (s chunkSet) has(chunk, gen uint32, base uint64) bool {
	u, ok := s[chunk]
	return ok && u.gen == gen && u.base == base
}

func (s chunkSet) add(chunk, gen uint32, base, seq uint64) {
	if chunk >= MarkChunk {
		return
	}
	u, ok := s[chunk]
	switch {
	case ok && u.gen == gen:
		s[chunk] = use{gen, min(u.base, base), max(u.seq, seq)} // two parts of one chunk
	case !ok || seq >= u.seq:
		s[chunk] = use{gen, base, seq}
	}
}

// Resume continues a log that was not finished because its recorder died. f must be open for
// reading and writing. Resume verifies the whole log and cuts off an unsound end.
func Resume(f *os.File) (*Writer, *Recovered, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	b, err := openBlocks(f, fi.Size())
	if err != nil {
		return nil, nil, err
	}
	out, err := newSink(f, b.super.LogFullPolicy)
	if err != nil {
		return nil, nil, err
	}
	return resume(b, out)
}

func resume(b *blocks, out sink) (*Writer, *Recovered, error) {
	if s, err := b.seal(); err != nil {
		return nil, nil, err
	} else if s != nil {
		return nil, nil, ErrSealed
	}
	w := &Writer{out: out, super: *b.super, fill: filling{slot: -1}}
	rec := &Recovered{Super: &w.super, chunks: chunkSet{}}
	loop := w.super.LogFullPolicy == Loop
	if loop {
		if err := w.resumeSlots(b, rec); err != nil {
			return nil, nil, err
		}
	}
	var buf []byte
	end, err := b.walk(w.super.tailAt(), 0, loop, func(off int64, h *header) error {
		if h.Kind == KindSeal {
			return errSealed // the file has bytes behind the seal
		}
		p, err := b.payload(off, h, buf)
		if err != nil {
			return err
		}
		buf = p
		return w.replayBlock(off, h, p, rec, loop)
	})
	if isIO(err) || errors.Is(err, errSealed) {
		return nil, nil, err
	}
	w.pos, w.seq = end, w.seq+1
	w.typesDone, w.anchorsDone = len(w.types), len(w.anchors)
	if w.super.LogFullPolicy == Loop {
		w.anchorsDone = 0 // write both areas before anything else
		for _, d := range b.copies.missingTypes(func(d TypeDef) bool { return w.known.Has(d.ID) }) {
			w.known.Add(d.ID)
			w.types = append(w.types, d)
		}
	}
	rec.End, rec.Cut, rec.Types = end, err, w.types
	if err := out.truncate(end); err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	return w, rec, nil
}

// resumeSlots loads the slots of a Loop log into the writer's state.
func (w *Writer) resumeSlots(b *blocks, rec *Recovered) error {
	newest, top := -1, uint64(0)
	err := b.slots(func(i int, off int64, h *header, p []byte, err error) error {
		if err != nil {
			return nil // it will be overwritten in its turn
		}
		w.cur.ResetJoint(p)
		sum, _ := summarize(&w.cur)
		for len(w.slots) <= i {
			w.slots = append(w.slots, entry{})
		}
		w.slots[i] = h.entry(off, &sum.Types)
		w.slots[i].bytes = uint64(h.Len)
		w.totals.add(h)
		w.slots[i].marks = w.resumeParts(p, h.Seq, rec)
		top = max(top, h.top)
		if h.Seq > w.seq {
			w.seq, newest = h.Seq, i
			w.fill = filling{payload: slices.Clone(p), slot: i, first: h.first(), side: h.side ^ 1, synced: true, syncedSide: h.side}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if top > 0 {
		w.seq = max(w.seq, top+1) // so that no later block confirms the first part of a split chunk
	}
	w.nextSlot = (newest + 1) % int(w.super.Slots)
	w.full = len(w.slots) == int(w.super.Slots) && w.slots[w.nextSlot].Seq != 0
	if err := b.readCopies(); err != nil {
		return err
	}
	w.seq = max(w.seq, b.copies.types.h.Seq)
	if k := &b.copies.anchors; k.p != nil {
		w.anchorSide, w.anchorSynced = k.side^1, 1+k.side
		w.seq = max(w.seq, k.h.Seq)
		w.anchors, _ = decodeAnchors(k.p, k.h.Count)
	}
	return nil
}

// resumeParts notes the chunks in a slot, and counts its marks.
func (w *Writer) resumeParts(p []byte, seq uint64, rec *Recovered) (marks uint64) {
	parts(p, func(q part) {
		if q.chunk >= MarkChunk {
			sum, _ := Summarize(&w.cur, q.payload, q.base)
			marks += uint64(sum.Count)
		}
		rec.chunks.add(q.chunk, q.gen, q.base, seq)
	})
	return marks
}

// replayBlock applies a sound block of the sequence to the writer's state.
func (w *Writer) replayBlock(off int64, h *header, p []byte, rec *Recovered, loop bool) error {
	var types *Coarse
	switch h.Kind {
	case KindEvents:
		if loop {
			return errLength // there are no events behind the slots
		}
		sum, _ := Summarize(&w.cur, p, h.Base)
		types = &sum.Types
		w.totals.add(h)
		w.used += uint64(h.Len)
		if h.Chunk == FinalChunk {
			w.full, w.final = true, true
		}
		rec.chunks.add(h.Chunk, h.Gen, h.Base, h.Seq)
	case KindTypes:
		defs, err := decodeTypes(p, h.Count)
		if err != nil {
			return err
		}
		for _, d := range defs {
			if !w.known.Has(d.ID) {
				w.known.Add(d.ID)
				w.types = append(w.types, d)
			}
		}
	case KindAnchors:
		anchors, err := decodeAnchors(p, h.Count)
		if err != nil {
			return err
		}
		w.anchors = append(w.anchors, anchors...)
		w.anchors = append(w.anchors[:0], w.anchors[max(0, len(w.anchors)-2):]...)
	case KindGroup:
		mark, err := decodeGroup(p)
		if err != nil {
			return err
		}
		w.watermark = mark
	case KindIndex:
		_, entries, err := decodeIndex(p, nil)
		if err != nil {
			return err
		}
		// A part of the index that agrees with the blocks replaces their entries.
		if n := len(entries); !loop && n <= len(w.index) && sameEntries(entries, w.index[:n]) {
			w.index = append(w.index[:0], w.index[n:]...)
			w.lastIndex = off
		}
	}
	w.seq = max(w.seq, h.Seq)
	w.grouped = h.Kind == KindGroup
	if h.Kind != KindGroup && h.Kind != KindIndex {
		w.index = append(w.index, h.entry(off, types))
	}
	return nil
}

func sameEntries(a, b []entry) bool {
	for i := range a {
		x, y := a[i], b[i]
		x.bytes, y.bytes = 0, 0
		x.marks, y.marks = 0, 0
		if x != y {
			return false
		}
	}
	return true
}
