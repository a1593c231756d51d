package tracelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// ErrFull is returned for a block of events that does not fit into an UntilFull log.
var ErrFull = errors.New("log full")

var errSealed = errors.New("log is sealed")

// Writer writes a log. It is not safe for concurrent use.
//
// A method that fails has written nothing that counts; the caller may repeat it with the same
// arguments. Errors of the file wrap the error number. A pipe that has accepted part of a block
// stays broken.
type Writer struct {
	out   sink
	super Super
	pos   int64  // offset of the next block in sequence
	seq   uint64 // of the next block
	head  [headerSize]byte
	cur   chunk.Cursor

	types     []TypeDef
	typesDone int // how many of them are in the log
	headDone  int // how many were known when the head was written,
	headHas   int // and how many of them are in it
	known     event.Set

	anchors     []chunk.ClockAnchor
	anchorsDone int // how many of them are in the log

	index     []entry // of blocks since the last part of the index
	lastIndex int64

	slots        []entry // Loop: the block in each slot; Seq 0 is an empty one
	nextSlot     int
	stale        bool // nextSlot may hold a block that was given up
	fill         filling
	spare        []byte   // memory for the next slot
	slim         []byte   // memory for a chunk without some notes
	noted        [][]byte // notes on mappings that slots of a Loop log have
	anchorSide   int64    // Loop: the area for clock anchors to write next
	anchorSynced int64    // 1 + which of them is on the device, 0 if none

	queue     queue
	used      uint64 // bytes of events in the log
	full      bool
	final     bool // the last mark of a full log is in it
	watermark uint64
	grouped   bool // the last block ended a group
	replaced  uint64
	marksGone uint64 // those of replaced that were marks
	totals    Totals
	unsynced  error // why Sync failed
	ending    bool  // Seal may use the space that is kept for it
	sealing   bool
	sealedAt  int64 // length of the sealed log
}

// Create starts a log at the start of f, which need not be readable. It does not truncate a regular
// file, for which the caller may have reserved space, unless f is open in append mode; the old
// contents no longer count. super is copied; for ID 0 Create chooses a random one.
func Create(f *os.File, super *Super) (*Writer, error) {
	out, err := newSink(f, super.LogFullPolicy)
	if err != nil {
		return nil, err
	}
	return create(out, super)
}

// Replace creates a log in a file whose contents go. The file never is without a log: if the process is
// killed meanwhile, the file has the old contents, or the log and perhaps a rest of the old contents,
// which no longer count.
func Replace(f *os.File, super *Super) (*Writer, error) {
	out, err := newSink(f, super.LogFullPolicy)
	if err != nil {
		return nil, err
	}
	if p, ok := out.(*positionalSink); ok {
		p.old = true
	}
	return create(out, super)
}

// manySlots is the number of slots above which a Loop log gets larger slots than its chunks need:
// the writer keeps an entry for each. Tests change it.
var manySlots uint64 = 8192

// BeforeWrite sets a function that is called before each write to a pipe, a terminal or the like.
func (w *Writer) BeforeWrite(f func()) {
	if s, ok := w.out.(*pipeSink); ok {
		s.before = f
	}
}

func create(out sink, super *Super) (*Writer, error) {
	w := &Writer{out: out, super: *super, seq: 1}
	s := &w.super
	s.Slots = 0
	if s.LogFullPolicy == Loop && s.ChunkSize > 0 {
		for s.ChunkSize < chunk.MaxSize && s.LogSize/uint64(s.ChunkSize) > manySlots {
			s.ChunkSize = min(2*s.ChunkSize, chunk.MaxSize)
		}
		n := (s.LogSize + uint64(s.ChunkSize) - 1) / uint64(s.ChunkSize)
		if n > 1<<31 {
			return nil, fmt.Errorf("log size %d: %w", s.LogSize, syscall.EFBIG)
		}
		s.Slots = uint32(max(n, 2))
	}
	for s.ID == 0 {
		s.ID = sys.Random64()
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("log: %v: %w", err, syscall.EINVAL)
	}
	b, err := s.encode()
	if err != nil {
		return nil, fmt.Errorf("log: %v: %w", err, syscall.EINVAL)
	}
	if _, ok := out.(*appendSink); ok {
		if err := out.truncate(0); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	if p, ok := out.(*positionalSink); ok && p.old {
		if err := p.replace(b); err != nil {
			return nil, fmt.Errorf("log: write superblock: %w", err)
		}
	}
	if err := w.reserve(); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	if err := out.put(0, b, nil); err != nil {
		return nil, fmt.Errorf("log: write superblock: %w", err)
	}
	w.pos = s.tailAt()
	w.slots = make([]entry, min(s.Slots, 1<<16))
	w.fill.slot = -1
	return w, nil
}

// reserve reserves space for a log of limited size.
func (w *Writer) reserve() error {
	switch w.super.LogFullPolicy {
	case Loop:
		return w.out.reserve(w.super.tailAt())
	case UntilFull:
		return w.out.reserve(w.super.size + int64(min(w.super.LogSize, 1<<62)))
	}
	return nil
}

// Super returns the superblock as it was written.
func (w *Writer) Super() *Super { return &w.super }

// Full reports whether an UntilFull log has refused events, or a Loop log has started to replace
// its oldest.
func (w *Writer) Full() bool { return w.full }

// Room returns how many bytes of events still fit.
func (w *Writer) Room() int64 {
	switch {
	case w.super.LogFullPolicy != UntilFull:
		return math.MaxInt64
	case w.full || w.used >= w.super.LogSize:
		return 0
	}
	return int64(min(w.super.LogSize-w.used, math.MaxInt64))
}

// Totals counts the blocks of events in the log.
func (w *Writer) Totals() Totals { return w.totals }

// Replaced counts the events that a Loop log has replaced by newer ones.
func (w *Writer) Replaced() uint64 { return w.replaced }

// ReplacedMarks counts the marks of the trace system among the replaced events.
func (w *Writer) ReplacedMarks() uint64 { return w.marksGone }

// encode completes the header of a block and encodes it into b.
func (w *Writer) encode(h *header, seq uint64, b *[headerSize]byte, payload []byte) {
	h.ID, h.Seq, h.Len, h.CRC = w.super.ID, seq, uint32(len(payload)), 0
	h.encode(b)
	h.CRC = checksum(b, payload)
	binary.LittleEndian.PutUint32(b[60:], h.CRC)
}

// write writes a block at off, under the next sequence number.
func (w *Writer) write(off int64, h *header, payload []byte) error {
	w.encode(h, w.seq, &w.head, payload)
	if err := w.out.put(off, w.head[:], payload); err != nil {
		return fmt.Errorf("log: write %v: %w", h.Kind, err)
	}
	w.seq++
	w.grouped = h.Kind == KindGroup
	return nil
}

// append writes a block behind the others, and adds it to the index if that has its kind. When a
// part of the index is full, append writes it first.
func (w *Writer) append(h *header, payload []byte, types *Coarse) error {
	if err := w.commit(); err != nil {
		return err
	}
	indexed := h.Kind != KindGroup && h.Kind != KindIndex && h.Kind != KindSeal
	if indexed && len(w.index) >= indexEntries {
		if err := w.writeIndex(); err != nil {
			return err
		}
	}
	at := w.pos
	if err := w.preallocateEnd(headerSize + len(payload)); err != nil {
		return err
	}
	if err := w.write(at, h, payload); err != nil {
		return err
	}
	w.pos += h.size()
	if indexed {
		w.index = append(w.index, h.entry(at, types))
	}
	return nil
}

// endSize is the space that is kept for the end of a log, beside its index: status, seal, and a few types
// and clock anchors.
const endSize = 8 << 10

// preallocateEnd allocates space for n bytes more and for the end of the log behind them. On a full disk, a log
// without end would not say how many events it lacks.
func (w *Writer) preallocateEnd(n int) error {
	if w.ending || w.super.LogFullPolicy == Loop {
		return nil
	}
	index := (len(w.index) + len(w.queue.blocks) + 1) * entrySize
	if err := w.out.preallocate(w.pos + int64(n) + int64(index) + endSize); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

func (h *header) entry(off int64, types *Coarse) entry {
	e := entry{Off: off, Seq: h.Seq, Min: h.Min, Max: h.Max, Count: h.Count, Kind: h.Kind}
	if h.Kind == KindEvents && h.Chunk >= MarkChunk {
		e.marks = uint64(h.Count)
	}
	if types != nil {
		e.Types = *types
	}
	return e
}

// writeIndex writes the next part of the index.
func (w *Writer) writeIndex() error {
	n := min(len(w.index), indexEntries)
	at := w.pos
	h := header{Kind: KindIndex, Count: uint32(n)}
	if err := w.append(&h, encodeIndex(w.lastIndex, w.index[:n]), nil); err != nil {
		return err
	}
	w.lastIndex = at
	w.index = append(w.index[:0], w.index[n:]...)
	return nil
}

// writePending writes the types and clock anchors that an earlier call could not.
func (w *Writer) writePending() error {
	if w.typesDone < len(w.types) || w.super.LogFullPolicy == Loop && w.headDone < len(w.types) {
		if err := w.writeTypes(); err != nil {
			return err
		}
	}
	if w.anchorsDone < len(w.anchors) {
		return w.writeAnchors()
	}
	return nil
}

// Seal finishes the log: it writes the rest of the index, the status and the seal, and truncates a
// regular file there. With sync set it returns when the file is on its device. After an error only
// Seal may be called.
func (w *Writer) Seal(s Status, sync bool) error {
	w.ending = true
	if err := w.writePending(); err != nil {
		return err
	}
	if !w.sealing {
		if err := w.clearSlot(); err != nil {
			return err
		}
		w.sealing = true
		w.indexSlots()
	}
	for len(w.index) > 0 {
		if err := w.writeIndex(); err != nil {
			return err
		}
	}
	if w.sealedAt == 0 {
		sl := seal{Index: uint64(w.lastIndex), Length: uint64(w.pos) + sealSize, Totals: w.totals, Status: s}
		if err := w.append(&header{Kind: KindSeal}, sl.encode(), nil); err != nil {
			return err
		}
		w.sealedAt = w.pos
	}
	if err := w.out.truncate(w.sealedAt); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if sync {
		return w.Sync()
	}
	return nil
}

// Clear removes the events of an UntilFull or Loop log; those of an Append log stay. Types and the
// clock stay.
func (w *Writer) Clear() error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogFullPolicy == Append || !w.out.seekable() {
		return nil
	}
	// Remove everything behind the superblock at once. Sequence numbers continue, so a block
	// that came back after a crash would be out of sequence.
	if err := w.out.truncate(w.super.size); err != nil {
		return fmt.Errorf("log: clear: %w", err)
	}
	w.Discard()
	w.pos = w.super.tailAt()
	w.index, w.lastIndex = w.index[:0], 0
	w.used, w.full, w.final, w.totals, w.replaced = 0, false, false, Totals{}, 0
	w.marksGone = 0
	clear(w.slots)
	w.nextSlot, w.stale, w.fill, w.anchorSynced = 0, false, filling{slot: -1}, 0
	w.typesDone, w.headDone, w.headHas, w.anchorsDone = 0, 0, 0, 0
	w.anchors = w.anchors[max(0, len(w.anchors)-2):]
	if err := w.reserve(); err != nil {
		return fmt.Errorf("log: clear: %w", err)
	}
	return w.writePending()
}
