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

// ErrFull is returned for a block of events that an UntilFull log has no room
// for.
var ErrFull = errors.New("log full")

var errSealed = errors.New("log is sealed")

// Writer writes a log. It is not safe for concurrent use.
//
// A method that fails has written nothing that counts; it may be called again
// with the same arguments when the cause is gone. Errors of the file wrap the
// error number. A pipe that has taken part of a block stays broken.
type Writer struct {
	out   sink
	super Super
	pos   int64  // where the next block in sequence goes
	seq   uint64 // of the next block
	head  [headerSize]byte
	cur   chunk.Cursor

	types     []TypeDef
	typesDone int // how many of them are in the log
	headDone  int // how many of them its head was written for,
	headHas   int // and how many it has
	known     event.Set

	anchors     []chunk.ClockAnchor
	anchorsDone int // how many of them are in the log

	index     []entry // of blocks since the last part of the index
	lastIndex int64

	slots      []entry // Loop: what lies in each slot; Seq 0 is an empty one
	nextSlot   int
	stale      bool // what was in it is given up, but may be there
	fill       filling
	spare      []byte // memory for the slot after it
	anchorSide int64  // Loop: which of the two slots for clock anchors comes next
	anchorKept int64  // 1 + which of them the device has, 0 if none

	used      uint64 // bytes of events in an UntilFull log
	full      bool
	final     bool // the last mark of a full log has been taken
	watermark uint64
	grouped   bool // nothing was written since the last end of a group
	replaced  uint64
	marksGone uint64 // how many of them were marks
	totals    Totals
	unsynced  error // why not all of the log is on its device
	sealing   bool
	sealedAt  int64 // length of the sealed log
}

// Create begins a log at the start of f, which need not be readable. A regular
// file is not truncated (the caller may have reserved room in it) unless it is
// open in append mode; what it held before counts no more. super is copied;
// ID 0 lets Create choose a random one.
func Create(f *os.File, super *Super) (*Writer, error) {
	out, err := newSink(f, super.LogPolicy)
	if err != nil {
		return nil, err
	}
	return create(out, super)
}

// manySlots is from how many slots on those of a Loop log are made for larger chunks than will
// come: a writer has to know what is in each. Tests change it.
var manySlots uint64 = 8192

// BeforeWrite sets what is called before each write to a pipe, a terminal or the like.
func (w *Writer) BeforeWrite(f func()) {
	if s, ok := w.out.(*forward); ok {
		s.before = f
	}
}

func create(out sink, super *Super) (*Writer, error) {
	w := &Writer{out: out, super: *super, seq: 1}
	s := &w.super
	if s.Slots = 0; s.Major == 0 {
		if s.Major = majorSingle; s.LogPolicy == Loop {
			s.Major = majorTwice
		}
	}
	if s.LogPolicy == Loop && s.ChunkSize > 0 {
		for s.joins() && s.ChunkSize < chunk.MaxSize && s.LogSize/uint64(s.ChunkSize) > manySlots {
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
	if _, ok := out.(*appending); ok {
		if err := out.truncate(0); err != nil {
			return nil, fmt.Errorf("log: %w", err)
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

// reserve makes room for what a log of limited size will hold.
func (w *Writer) reserve() error {
	switch w.super.LogPolicy {
	case Loop:
		return w.out.reserve(w.super.tailAt())
	case UntilFull:
		return w.out.reserve(w.super.size + int64(min(w.super.LogSize, 1<<62)))
	}
	return nil
}

// Super returns the superblock as it was written.
func (w *Writer) Super() *Super { return &w.super }

// Full reports whether an UntilFull log has refused events, or a Loop log has
// begun to replace its oldest.
func (w *Writer) Full() bool { return w.full }

// Room returns how many bytes of events the log still takes.
func (w *Writer) Room() int64 {
	switch {
	case w.super.LogPolicy != UntilFull:
		return math.MaxInt64
	case w.full || w.used >= w.super.LogSize:
		return 0
	}
	return int64(min(w.super.LogSize-w.used, math.MaxInt64))
}

// Totals counts the blocks of events that are in the log.
func (w *Writer) Totals() Totals { return w.totals }

// Replaced counts the events that a Loop log has given up for newer ones.
func (w *Writer) Replaced() uint64 { return w.replaced }

// ReplacedMarks counts those of Replaced that were marks of the trace system
// and not events of a chunk.
func (w *Writer) ReplacedMarks() uint64 { return w.marksGone }

// write puts a block at off and takes its sequence number.
func (w *Writer) write(off int64, h *header, payload []byte) error {
	h.ID, h.Seq, h.Len, h.CRC = w.super.ID, w.seq, uint32(len(payload)), 0
	h.encode(&w.head)
	h.CRC = checksum(&w.head, payload)
	binary.LittleEndian.PutUint32(w.head[60:], h.CRC)
	if err := w.out.put(off, w.head[:], payload); err != nil {
		return fmt.Errorf("log: write %v: %w", h.Kind, err)
	}
	w.seq++
	w.grouped = h.Kind == KindGroup
	return nil
}

// append writes a block behind the others. Blocks that the index knows are
// entered there; when its part is full, that is written first.
func (w *Writer) append(h *header, payload []byte, types *Coarse) error {
	indexed := h.Kind != KindGroup && h.Kind != KindIndex && h.Kind != KindSeal
	if indexed && len(w.index) >= indexEntries {
		if err := w.writeIndex(); err != nil {
			return err
		}
	}
	at := w.pos
	if err := w.write(at, h, payload); err != nil {
		return err
	}
	w.pos += h.size()
	if indexed {
		w.index = append(w.index, h.entry(at, types))
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

// Types writes the types that are not yet in the log. A type must be in the log
// before the first event of it.
func (w *Writer) Types(defs []TypeDef) error {
	if w.sealing {
		return errSealed
	}
	for _, d := range defs {
		if !d.ID.Valid() || len(d.Name) > event.NameMax {
			return fmt.Errorf("log: type %d %q: %w", d.ID, d.Name, syscall.EINVAL)
		}
		if !w.known.Has(d.ID) {
			w.known.Add(d.ID)
			w.types = append(w.types, d)
		}
	}
	return w.writeTypes()
}

func (w *Writer) writeTypes() error {
	for w.typesDone < len(w.types) {
		var b []byte
		n := w.typesDone
		for ; n < len(w.types) && len(b) < 32<<10; n++ {
			b = appendType(b, w.types[n])
		}
		h := header{Kind: KindTypes, Count: uint32(n - w.typesDone)}
		if err := w.append(&h, b, nil); err != nil {
			return err
		}
		w.typesDone = n
	}
	return w.writeHead()
}

// Anchors writes the clock anchors that are not yet in the log: those that
// lie above the last one that is.
func (w *Writer) Anchors(anchors []chunk.ClockAnchor) error {
	if w.sealing {
		return errSealed
	}
	for _, k := range anchors {
		if n := len(w.anchors); n == 0 || k.Tick > w.anchors[n-1].Tick && k.Nanos >= w.anchors[n-1].Nanos {
			w.anchors = append(w.anchors, k)
		}
	}
	return w.writeAnchors()
}

func (w *Writer) writeAnchors() error {
	if w.super.LogPolicy == Loop {
		return w.writeLoopAnchors()
	}
	for w.anchorsDone < len(w.anchors) {
		n := min(len(w.anchors), w.anchorsDone+4096)
		if err := w.append(anchorsHeader(w.anchors[w.anchorsDone:n]), appendAnchors(nil, w.anchors[w.anchorsDone:n]), nil); err != nil {
			return err
		}
		w.anchorsDone = n
	}
	// The last two say how the line goes on; Clear needs them again.
	if n := len(w.anchors); n > 2 {
		w.anchors = append(w.anchors[:0], w.anchors[n-2:]...)
		w.anchorsDone = 2
	}
	return nil
}

func anchorsHeader(anchors []chunk.ClockAnchor) *header {
	n := len(anchors)
	return &header{Kind: KindAnchors, Min: anchors[0].Tick, Max: anchors[n-1].Tick, Count: uint32(n)}
}

// EventsBlock is a chunk on its way to the log.
type EventsBlock struct {
	Payload []byte // the records; they must not change during the call
	Base    uint64 // of the chunk's first deltas
	Chunk   uint32 // number of the chunk in the stream
	Gen     uint32 // and which use of it this is

	// Types, when set, tells which types are in the chunk, and MinTick, MaxTick
	// and Count must be right then. Otherwise Events goes through the chunk and
	// finds all four.
	Types            *Coarse
	MinTick, MaxTick uint64
	Count            int

	// Final marks the automatic STOP that ends an UntilFull log. One such block
	// is taken whatever the log holds; it gets the number FinalChunk.
	Final bool
}

// Chunk numbers of blocks that hold marks of the trace system. No chunk of a
// stream has them.
const (
	FinalChunk = ^uint32(0)     // of the final block of a full log
	MarkChunk  = FinalChunk - 1 // of any other
)

// Events writes a chunk. A chunk without events is no error and writes nothing.
// One that does not decode to its end is written as far as it does, and then
// the error wraps chunk.ErrMalformed. An UntilFull log that has no room
// returns ErrFull, from then on for every block but the final one.
func (w *Writer) Events(b EventsBlock) error {
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
	if err := w.settle(); err != nil {
		return err
	}
	var err error
	switch w.super.LogPolicy {
	case Loop:
		if w.super.joins() {
			err = w.join(&b, &sum)
		} else {
			err = w.writeSlot(&h, b.Payload, b.Types)
		}
	case UntilFull:
		if w.full = w.full || w.used+uint64(len(b.Payload)) > w.super.LogSize; w.full && (!b.Final || w.final) {
			return ErrFull
		}
		if err = w.append(&h, b.Payload, b.Types); err == nil {
			w.used += uint64(len(b.Payload))
			w.final = b.Final
			w.full = w.full || w.final
		}
	default:
		err = w.append(&h, b.Payload, b.Types)
	}
	if err != nil {
		return err
	}
	if w.super.LogPolicy != Loop {
		w.totals.add(&h)
	}
	return malformed
}

func (t *Totals) add(h *header) {
	t.Blocks++
	t.Events += uint64(h.Count)
	t.Bytes += uint64(h.Len)
}

// settle writes the types and clock anchors that an earlier call could not.
func (w *Writer) settle() error {
	if w.typesDone < len(w.types) || w.super.twice() && w.headDone < len(w.types) {
		if err := w.writeTypes(); err != nil {
			return err
		}
	}
	if w.anchorsDone < len(w.anchors) {
		return w.writeAnchors()
	}
	return nil
}

// GroupEnd promises that every event up to watermark that will ever be in the
// log is in it now. A reader that cannot seek reports events only up to there.
func (w *Writer) GroupEnd(watermark uint64) error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogPolicy == Loop || w.grouped && watermark <= w.watermark {
		return nil
	}
	h := header{Kind: KindGroup, Min: watermark, Max: watermark}
	if err := w.append(&h, binary.LittleEndian.AppendUint64(nil, watermark), nil); err != nil {
		return err
	}
	w.watermark = watermark
	return nil
}

// Status records the status as it is now, for the reader of a log that is never
// finished. A Loop log keeps only that of its end.
func (w *Writer) Status(s Status) error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogPolicy == Loop {
		return nil
	}
	return w.append(&header{Kind: KindStatus}, appendStatus(nil, &s), nil)
}

// Seal finishes the log: the rest of the index, the status, the seal. A regular
// file then ends there. With sync set it returns when the file is on its
// device. Seal may be called again after an error; nothing else may.
func (w *Writer) Seal(s Status, sync bool) error {
	if err := w.settle(); err != nil {
		return err
	}
	if !w.sealing {
		if err := w.wipe(); err != nil {
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

// Sync returns when all that was written is on its device, as far as fsync(2) can tell.
// Once it has failed it fails for ever: the kernel forgets what it could not write, and
// would call the next try a success. The log is written on all the same.
func (w *Writer) Sync() error {
	if w.unsynced == nil {
		if err := w.out.sync(); err != nil {
			w.unsynced = fmt.Errorf("log: sync: %w", err)
		}
	}
	w.keep()
	return w.unsynced
}

// keep notes what the device has of a Loop log that is about to be written over: of two
// headers, or two slots for clock anchors, the one in force. Until the next Sync only the other
// may change, since what a device is given between two of them may reach it in any order:
// both headers without the records that they cover would be the end of all in the slot.
func (w *Writer) keep() {
	w.fill.kept = w.fill.slot >= 0
	w.fill.keptSide = w.fill.side ^ 1
	if w.anchorsDone > 0 {
		w.anchorKept = 1 + (w.anchorSide ^ 1)
	}
}

// Clear empties an UntilFull or Loop log of its events; what is in an Append
// log stays. Types and the clock survive.
func (w *Writer) Clear() error {
	if w.sealing {
		return errSealed
	}
	if w.super.LogPolicy == Append || !w.out.seekable() {
		return nil
	}
	// Everything behind the superblock goes at once. Sequence numbers go on,
	// so that a block that came back after a crash would be out of sequence.
	if err := w.out.truncate(w.super.size); err != nil {
		return fmt.Errorf("log: clear: %w", err)
	}
	w.pos = w.super.tailAt()
	w.index, w.lastIndex = w.index[:0], 0
	w.used, w.full, w.final, w.totals, w.replaced = 0, false, false, Totals{}, 0
	w.marksGone = 0
	clear(w.slots)
	w.nextSlot, w.stale, w.fill, w.anchorKept = 0, false, filling{slot: -1}, 0
	w.typesDone, w.headDone, w.headHas, w.anchorsDone = 0, 0, 0, 0
	w.anchors = w.anchors[max(0, len(w.anchors)-2):]
	if err := w.reserve(); err != nil {
		return fmt.Errorf("log: clear: %w", err)
	}
	return w.settle()
}
