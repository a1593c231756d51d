package stream

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Block is what a flush hands to the log: a chunk, or marks of the trace system.
type Block struct {
	Index    int    // of the chunk; -1 for marks
	Gen      uint32 // which use of the chunk; rises, and wraps at 32 bits
	Payload  []byte
	Base     uint64
	Min, Max uint64 // ticks
	Count    int    // events
}

// drainer is the state of one flush.
type drainer struct {
	m         *Mem
	slot      uint64
	to        *Sink
	room      int64         // how many bytes of events the log still takes
	state     uint64        // of the stream when the flush started
	looked    uint64        // the flush has seen everything older than this tick
	watermark uint64        // when it is over, everything older than this tick is out, but for late events
	start     uint64        // tick of FLUSH_START
	newest    uint64        // tick of the newest event
	items     []item        // chunks to put, the oldest first
	busy      []piece       // copies of chunks whose writers stand still
	losses    []loss        // not yet reported
	known     uint64        // how many losses there were at the last look
	deadline  time.Time     // of the wait for writers in the middle of an event
	claims    time.Duration // rest of the wait for claims
}

// item is a chunk that is to go to the log.
type item struct {
	i     int
	c     ctl
	age   uint64
	base  uint64
	early bool // it has room left
}

// Drain flushes the stream to a log. It closes every chunk that holds events and hands the
// chunks to to.Put, oldest first, each preceded by the marks that belong before it. A chunk that
// Put has accepted is free again. Drain returns the tick up to which all events are out. If Put
// fails, the rest stays in the stream. The caller holds the stream's lock.
//
// If the log has no room for all events, the newest are lost.
//
// Writers cannot overwrite a chunk while Drain hands it over. Drain therefore takes only some
// chunks of a LOOP stream at a time: the writers always find others, and their events are kept.
func (m *Mem) Drain(slot uint64, to *Sink) (watermark uint64, err error) {
	h := &drainer{m: m, slot: slot, to: to, room: to.Room}
	h.gather()
	defer h.restore()
	size := len(h.items)
	if m.Policy == Loop && !h.tight() {
		size = max(2, m.Chunks/4)
	}
	for first := true; first || len(h.items) > 0; first = false {
		n := min(size, len(h.items))
		batch := h.items[:n]
		h.items = h.items[n:]
		if err := h.send(batch, first); err != nil {
			return 0, err
		}
	}
	m.h.lastTick.Store(max(m.h.lastTick.Load(), min(h.newest, m.now())))
	m.h.loopFull.Store(0)
	if !m.rejects(event.FlushStop) {
		m.stepFlushStop(flushEnds, m.now())
	}
	return h.watermark, nil
}

// gather closes the chunks to flush.
func (h *drainer) gather() {
	m := h.m
	h.looked = m.now()
	m.reached(h.looked)
	for t := time.Now(); time.Since(t) < margin; {
	}
	h.watermark, h.start = h.looked, h.looked
	h.deadline = time.Now().Add(patience)
	h.claims = claimPatience()
	// Loaded before the chunks, so that the flush finds all events recorded before a stop.
	h.state = m.State()
	if h.state&Full != 0 {
		h.start = m.after(m.stopTick())
	}
	h.known = ^uint64(0)
	h.look()
	// A chunk that is started during a pass is left to the next flush: another, older one
	// might be started and overwritten where the pass has looked already.
	start := uint64(math.MaxUint64)
	if h.state&Running != 0 {
		start = m.now()
	}
	taken := make([]bool, m.Chunks)
	for range maxPasses {
		if !h.pass(start, taken) {
			break
		}
		start = m.now()
	}
	slices.SortFunc(h.items, func(a, b item) int { return cmp.Compare(a.age, b.age) })
}

// maxPasses bounds how often a scan or a flush looks at the chunks again because writers have come
// to old ones meanwhile. Each pass of a flush closes those, so there are fewer each time. On a crowded
// machine, with the race detector, 16 were too few now and then: event 202 of a writer came after 349.
const maxPasses = 256

// pass closes the chunks that were started up to tick start and that no pass has taken before. It
// reports whether another pass is needed: a writer that gives its events times of its own has come
// to one of the chunks since. Its event before may be in a chunk that this pass had looked at
// already, and would be flushed later than the events that follow it.
func (h *drainer) pass(start uint64, taken []bool) (again bool) {
	m := h.m
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() == claiming {
			h.settle(i, c)
		}
		if taken[i] || c.state() < owned || c.state() == leaving || c.count() == 0 {
			continue
		}
		it := item{i: i, c: c, base: m.earliest(i, c), early: !c.state().closed()}
		if d.born.Load() > start {
			h.holdBack(i, c)
			continue
		}
		if h.close(&it) {
			taken[i] = true
			it.age = m.ages[i].Load()
			h.items = append(h.items, it)
			again = again || d.joined.Load() > start
		}
	}
	return again
}

// holdBack lowers the watermark below the events of chunk i, seen as c, which is left to a later
// flush. So a process that has read up to the watermark gets them in order.
func (h *drainer) holdBack(i int, c ctl) {
	h.watermark = min(h.watermark, max(h.m.earliest(i, c), 1)-1)
}

// look collects what a LOOP stream has lost since the last look.
func (h *drainer) look() {
	if n := h.m.h.losses.Load(); h.m.Policy != Loop || h.known == n {
		return
	} else {
		h.known = n
	}
	h.m.claimEachLoss(math.MaxUint64, func(first, last uint64) {
		var l loss
		l.add(first, last)
		h.losses = append(h.losses, l)
	})
	slices.SortFunc(h.losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
}

// close makes the chunk one to which no writer appends. It returns false if it cannot: the chunk was
// overwritten, or its writer stands still in the middle of an event. A later flush takes it then.
func (h *drainer) close(it *item) bool {
	m := h.m
	d := m.at(it.i)
	for {
		c := ctl(d.ctl.Load())
		if c.gen() != it.c.gen() || c.state() < owned || c.state() == leaving {
			h.settle(it.i, c)
			return false
		}
		it.c = c
		if c.state().closed() {
			return !c.busy()
		}
		if it.early = true; !c.busy() {
			m.retire(it.i, c)
			continue
		}
		if time.Now().After(h.deadline) {
			h.holdBack(it.i, c)
			if m.Policy != Loop {
				// Its events may be the first after a gap, and stay in the stream. (Under LOOP they
				// may be overwritten, so RESUME must not rely on them.)
				b := make([]byte, min(c.off(), m.ChunkSize))
				snapshot(b, m.bytes(it.i)[:len(b)])
				b = without(b, m.clearedOf(it.i, c))
				h.busy = append(h.busy, m.piece(b, d))
			}
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// settle waits until the loss of a chunk that is being overwritten is accounted for: OVERFLOW
// stands before later events.
func (h *drainer) settle(i int, c ctl) {
	start := time.Now()
	for c.state() == claiming && ctl(h.m.at(i).ctl.Load()) == c && time.Since(start) < h.claims {
		runtime.Gosched()
	}
	h.claims -= time.Since(start)
}

// take makes the chunk one that no other process changes.
func (h *drainer) take(it *item) bool {
	for h.close(it) {
		h.look() // losses so far are older
		if h.m.at(it.i).ctl.CompareAndSwap(uint64(it.c), uint64(it.c.with(h.slot, leaving))) {
			return true
		}
	}
	return false
}

// restore gives the room of the chunks that stay in the stream back to its writers.
func (h *drainer) restore() {
	for _, it := range h.items {
		if it.early {
			h.m.reopen(it.i, h.slot, it.c)
		}
	}
}

// send puts some of the chunks, after the marks that belong among them. Chunks that it could not
// put go back to the items.
func (h *drainer) send(batch []item, first bool) (err error) {
	m := h.m
	var taken []item
	for _, it := range batch {
		if h.take(&it) {
			taken = append(taken, it)
		}
	}
	sent := 0
	defer func() {
		for _, it := range taken[sent:] {
			if m.at(it.i).ctl.CompareAndSwap(uint64(it.c.with(h.slot, leaving)), uint64(it.c)) {
				h.items = append(h.items, it)
			}
		}
	}()
	h.look()
	pieces := h.pieces(taken)
	marks := h.marks(append(slices.Clone(h.busy), pieces...), first)
	keep, recs, fits := h.cut(pieces, taken, marks.recs)
	if err := h.putMarks(marks.recs[:recs]); err != nil {
		return err
	}
	marks.done()
	h.losses = h.losses[:0]
	m.h.drained.Store(h.watermark)
	buf := make([]byte, m.ChunkSize)
	for i, it := range taken {
		part := kept{size: len(pieces[i].b), count: it.c.count() - m.clearedOf(it.i, it.c), last: pieces[i].max}
		all := part.count
		if !fits && !keep[i].all {
			part = keep[i]
			part.count = min(part.count, all)
		}
		if err := h.putChunk(buf, &it, &pieces[i], part, all); err != nil {
			return err
		}
		sent++
		m.drop(it.i, it.c.with(h.slot, leaving))
	}
	if fits {
		if err := h.putMarks(marks.last.marks); err != nil {
			return err
		}
	}
	marks.doneLast()
	return nil
}

// pieces returns the content of the chunks that send has taken.
func (h *drainer) pieces(taken []item) (pieces []piece) {
	m := h.m
	for _, it := range taken {
		b := m.bytes(it.i)[:min(it.c.off(), m.ChunkSize)]
		if n := m.clearedOf(it.i, it.c); n > 0 {
			b = without(b, n)
		}
		p := m.piece(b, m.at(it.i))
		h.newest = max(h.newest, p.max)
		pieces = append(pieces, p)
	}
	return pieces
}

// marks returns the marks that go with chunks.
func (h *drainer) marks(chunks []piece, first bool) *flushMarks {
	sure := uint64(math.MaxUint64)
	if h.state&Running != 0 {
		sure = h.looked
	}
	for _, it := range h.items {
		sure = min(sure, it.base-1)
	}
	marks := h.m.newMarks(chunks, sure)
	if first {
		marks.flush(h.start)
	}
	if h.m.Policy == Loop {
		marks.overwritten(h.losses)
	} else {
		marks.stopped(h.state, h.newest)
	}
	inOrder(marks.recs)
	return marks
}

// putChunk puts a part of a chunk that has count events.
func (h *drainer) putChunk(buf []byte, it *item, p *piece, part kept, count int) error {
	// A copy, so that the checksum is that of what the log writes, if a hostile process changes the
	// stream meanwhile.
	buf = buf[:part.size]
	snapshot(buf, p.b[:part.size])
	if part.count > 0 {
		b := Block{Index: it.i, Gen: it.c.blockGen(), Payload: buf, Base: p.base, Min: p.min, Max: part.last, Count: part.count}
		if err := h.put(&b); err != nil {
			return err
		}
	}
	if count > part.count {
		h.to.Lost(count - part.count)
	}
	return nil
}

// putMarks puts marks in blocks no larger than a chunk, which is the limit of the log.
func (h *drainer) putMarks(marks []chunk.Record) error {
	inOrder(marks)
	for len(marks) > 0 {
		n, size := 0, 0
		for n < len(marks) {
			size += chunk.FullSize + chunk.Align(len(marks[n].Data))
			if n > 0 && size > h.m.ChunkSize {
				break
			}
			n++
		}
		if err := h.put(markBlock(marks[:n])); err != nil {
			return err
		}
		marks = marks[n:]
	}
	return nil
}
