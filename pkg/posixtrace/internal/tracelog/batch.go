package tracelog

import (
	"io"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// CreateForward starts a log on a plain writer. Its policy must be Append.
func CreateForward(out io.Writer, super *Super) (*Writer, error) {
	return create(&pipeSink{f: out}, super)
}

// batchSize bounds the blocks of a Batch, unless a single event is larger.
const batchSize = 64 << 10

// Batch collects single events, which come in the order of their times, into blocks of a log.
// ChunkSize of the log must be chunk.MaxSize.
type Batch struct {
	w     *Writer
	buf   []byte
	sites map[site]int
	first uint64 // base of the block
	base  uint64 // of the events to come
	last  uint64 // time of the last event
	gen   uint32
	notes []byte // on mappings, for the next event
}

type site struct {
	addr     uint64
	id       event.ID
	tid, pid uint32
}

// NewBatch returns a batch for w.
func NewBatch(w *Writer) *Batch { return &Batch{w: w, sites: map[site]int{}} }

// Add appends an event. Its type must be in the log.
func (b *Batch) Add(rec *chunk.Record) error {
	if len(b.buf) > 0 && len(b.buf)+len(b.notes)+chunk.NoteSize+chunk.EventSize(len(rec.Data)) > batchSize {
		if err := b.flush(1); err != nil {
			return err
		}
	}
	if len(b.buf) == 0 {
		b.first, b.base = rec.Tick, rec.Tick
	}
	if rec.Tick < b.base || rec.Tick-b.base > 1<<32-1 {
		b.buf = chunk.AppendBase(b.buf, rec.Tick)
		b.base = rec.Tick
	}
	s := site{rec.Addr, rec.Event, rec.TID, rec.PID}
	num, ok := b.sites[s]
	if !ok {
		num = len(b.sites) // far below chunk.MaxSites: definitions fill the block before
		b.sites[s] = num
		b.buf = chunk.AppendSite(b.buf, num, rec)
	}
	b.buf = append(b.buf, b.notes...)
	b.notes = b.notes[:0]
	b.buf = chunk.AppendNote(b.buf, rec)
	b.buf = chunk.AppendEvent(b.buf, uint32(rec.Tick-b.base), num, rec.Truncated, rec.Data)
	b.last = max(b.last, rec.Tick)
	return nil
}

// Note appends a note on a mapping, if an event follows. It drops a note for which a block has no room
// beside the largest event.
func (b *Batch) Note(m *chunk.Map) {
	if len(b.notes)+chunk.MapSize(len(m.Data)) <= maxNotes {
		b.notes = chunk.AppendMap(b.notes, m.PID, m.Data)
	}
}

// maxNotes bounds the notes before an event.
const maxNotes = chunk.MaxSize / 4

// Flush writes the collected events, so that a reader that cannot seek reports all of them. It is
// for a pause, or the end: the next event should have a later time.
func (b *Batch) Flush() error { return b.flush(0) }

// flush ends the group before ticks before the last event: the next event may have the same time.
func (b *Batch) flush(before uint64) error {
	if len(b.buf) == 0 {
		return nil
	}
	b.gen++
	err := b.w.Events(EventsBlock{Payload: b.buf, Base: b.first, Gen: b.gen})
	if err == nil && b.last >= before {
		err = b.w.GroupEnd(b.last - before)
	}
	b.buf = b.buf[:0]
	clear(b.sites)
	return err
}
