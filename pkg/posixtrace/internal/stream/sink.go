package stream

import (
	"cmp"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// A log that stops when it is full keeps older events and loses newer ones. Chunks overlap in time,
// so when not all of a flush fits, each chunk is cut at the time at which the log ends.

// Sink is the destination of a flush.
type Sink struct {
	// Put hands a block to the log. If queued is true, the log has the block when Commit says so.
	Put func(*Block) (queued bool, err error)
	// Space, if set, returns memory for the payload of the next block, nil if there is none before a
	// Commit. The block has Later set, and Put need not copy its payload.
	Space func(n int) []byte
	// Commit writes the queued blocks. It returns how many of those queued since the last Commit are
	// in the log now, which are the first ones; the log forgets the others.
	Commit func() (n int, err error)
	// Room is how many bytes of events the log still takes.
	Room int64
	// Logged, if set, reports whether the log has a chunk already.
	Logged func(chunk, gen uint32, base uint64) bool
	// Lost is called with the number of events of a chunk for which there is no room.
	Lost func(n int)
	// Recover, if set, releases what dead writers hold (RecoverSlots). A flush that has waited in vain for a
	// writer calls it once.
	Recover func()
	// Last says that the stream is stopped and no flush follows. The flush then also puts the events of a
	// chunk whose writer is stopped in the middle of an event, and leaves the chunk to that writer.
	Last bool

	left map[int]int // how many events of a chunk that is left to its writer the log has, or counts as lost
}

// marksRoom is roughly the size of the marks of a flush.
const marksRoom = 4096

// put hands a block to the log.
func (fl *flusher) put(b *Block) (queued bool, err error) {
	if b.Index < 0 || !fl.logged(b.Index, b.Gen, b.Base) {
		fl.room = max(fl.room-int64(len(b.Payload)), 0)
	}
	return fl.to.Put(b)
}

func (fl *flusher) logged(i int, gen uint32, base uint64) bool {
	return fl.to.Logged != nil && fl.to.Logged(uint32(i), gen, base)
}

// blockGen is the generation of a chunk in the form that blocks have.
func (c ctl) blockGen() uint32 { return uint32(c.gen()) << (32 - genBits) }

// tight reports whether the log may lack room for all items.
func (fl *flusher) tight() bool {
	if fl.room == math.MaxInt64 {
		return false
	}
	size := int64(marksRoom)
	for _, it := range fl.items {
		if !fl.logged(it.i, it.c.blockGen(), fl.m.at(it.i).base.Load()) {
			size += int64(it.c.off())
		}
	}
	return size > fl.room
}

// kept is the part of a chunk for which the log has room.
type kept struct {
	size, count int
	last        uint64 // tick of its last event
	all         bool
}

// cut determines for which part of the chunks and of the marks, which are in order, the log has
// room: the older events. It returns how many of the marks fit, and ok if everything does.
func (fl *flusher) cut(chunks []piece, taken []item, marks []chunk.Record) (keep []kept, recs int, ok bool) {
	type event struct {
		tick  uint64
		piece int32 // -1: a mark
		size  int32
	}
	total := int64(0)
	for i := range marks {
		total += int64(chunk.FullSize + chunk.Align(len(marks[i].Data)))
	}
	for i := range chunks {
		total += int64(len(chunks[i].b))
	}
	if total <= fl.room {
		return nil, len(marks), true // as nearly always
	}
	var events []event
	keep = make([]kept, len(chunks))
	for i := range marks {
		size := chunk.FullSize + chunk.Align(len(marks[i].Data))
		events = append(events, event{marks[i].Tick, -1, int32(size)})
	}
	for i := range chunks {
		if fl.logged(taken[i].i, taken[i].c.blockGen(), chunks[i].base) {
			keep[i].all = true
			total -= int64(len(chunks[i].b))
			continue
		}
		p := &chunks[i]
		w := walker{b: p.b, base: p.base}
		done, last := 0, uint64(0)
		for {
			tick, more := w.next()
			if !more {
				break
			}
			last = max(last, tick)
			end := len(p.b) - len(w.b)
			events = append(events, event{last, int32(i), int32(end - done)})
			done = end
		}
	}
	if total <= fl.room {
		return nil, len(marks), true
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.tick, b.tick) })
	left := fl.room
	for _, e := range events {
		if left -= int64(e.size); left < 0 {
			break
		}
		if e.piece < 0 {
			recs++
			continue
		}
		k := &keep[e.piece]
		k.size += int(e.size)
		k.count++
		k.last = e.tick
	}
	return keep, recs, false
}
