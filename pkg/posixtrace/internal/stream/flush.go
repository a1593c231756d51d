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
	Later    bool   // the payload lies in memory of Sink.Space
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
	gap       gap           // as the log has it: the header's goes ahead (owe)
	overflow  uint64        // tick of an OVERFLOW that an earlier flush owes, under LOOP; 0: none
	known     uint64        // how many losses there were at the last look
	deadline  time.Time     // of the wait for writers in the middle of an event
	claims    time.Duration // rest of the wait for claims
	recovered bool          // Sink.Recover was called
	claimed   map[int]bool  // chunks that a claimer that stands still has, whose loss is in losses
}

// item is a chunk that is to go to the log.
type item struct {
	i     int
	c     ctl
	age   uint64
	base  uint64
	early bool // it has room left
	held  bool // its writer stands still in the middle of an event, and the last flush leaves it the chunk
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
//
// A chunk that is busy for longer than patience keeps its events for a later flush. If none follows
// (Sink.Last), Drain puts a copy of them. The control word stays as it is: its writer, which may go on at
// any time, stores the next one without a look at it.
func (m *Mem) Drain(slot uint64, to *Sink) (watermark uint64, err error) {
	dr := &drainer{m: m, slot: slot, to: to, room: to.Room}
	dr.gather()
	defer dr.restore()
	size := len(dr.items)
	if m.Policy == Loop && !dr.tight() {
		size = max(2, m.Chunks/4)
	}
	for first := true; first || len(dr.items) > 0; first = false {
		n := min(size, len(dr.items))
		batch := dr.items[:n]
		dr.items = dr.items[n:]
		if err := dr.send(batch, first); err != nil {
			return 0, err
		}
	}
	m.h.lastTick.Store(max(m.h.lastTick.Load(), min(dr.newest, m.time())))
	m.h.loopFull.Store(0)
	if !m.rejects(event.FlushStop) {
		m.stepFlushStop(flushEnds, m.time())
	}
	return dr.watermark, nil
}

// gather closes the chunks to flush.
func (dr *drainer) gather() {
	m := dr.m
	dr.looked = m.time()
	m.raiseHorizon(dr.looked)
	dr.watermark, dr.start = dr.looked, dr.looked
	dr.deadline = time.Now().Add(patience)
	dr.claims = claimPatience()
	// Loaded before the chunks, so that the flush finds all events recorded before a stop.
	dr.state = m.State()
	if dr.state&Full != 0 && m.end == 0 {
		dr.start = m.after(m.stopTick())
	}
	dr.gap, dr.overflow = gap{m.h.gapEnd.Load()}, m.h.pendingOverflow.Load()
	dr.known = ^uint64(0)
	dr.look()
	// A chunk that is started during a pass is left to the next flush: another, older one
	// might be started and overwritten where the pass has looked already.
	start := uint64(math.MaxUint64)
	if dr.state&Running != 0 {
		start = m.now()
	}
	taken := make([]bool, m.Chunks)
	for range maxPasses {
		if !dr.pass(start, taken) {
			break
		}
		start = m.now()
	}
	slices.SortFunc(dr.items, func(a, b item) int { return cmp.Compare(a.age, b.age) })
}

// maxPasses bounds how often a scan or a flush looks at the chunks again because writers have come
// to old ones meanwhile. Each pass of a flush closes those, so there are fewer each time. On a crowded
// machine, with the race detector, 16 were too few now and then: event 202 of a writer came after 349.
const maxPasses = 256

// pass closes the chunks that were started up to tick start and that no pass has taken before. It
// reports whether another pass is needed: a writer that gives its events times of its own has come
// to one of the chunks since. Its event before may be in a chunk that this pass had looked at
// already, and would be flushed later than the events that follow it.
func (dr *drainer) pass(start uint64, taken []bool) (again bool) {
	m := dr.m
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() == claiming {
			dr.awaitClaimer(i, c)
		}
		c = dr.awaitFirst(i, c)
		if taken[i] || c.state() < owned || c.state() == leaving || c.count() == 0 {
			continue
		}
		it := item{i: i, c: c, base: m.earliest(i, c), early: !c.state().closed()}
		if d.born.Load() > start {
			dr.holdBack(i, c)
			continue
		}
		if dr.close(&it) {
			taken[i] = true
			if it.held {
				m.date(i) // as if it were closed now
			}
			it.age = m.ages[i].Load()
			dr.items = append(dr.items, it)
			again = again || d.joined.Load() > start
		}
	}
	return again
}

// awaitFirst returns the control word of chunk i, seen as c. If the chunk is empty and a writer is in
// the middle of its first event, awaitFirst waits for the event, which may be older than the flush.
func (dr *drainer) awaitFirst(i int, c ctl) ctl {
	for c.busy() && c.count() == 0 && (c.state() == owned || c.state() == open) {
		if time.Now().After(dr.deadline) && !dr.recover() {
			dr.holdBack(i, c)
			break
		}
		time.Sleep(20 * time.Microsecond)
		c = ctl(dr.m.at(i).ctl.Load())
	}
	return c
}

// recover releases what dead writers hold, once. It reports whether the flush should look again.
func (dr *drainer) recover() bool {
	if dr.recovered || dr.to.Recover == nil {
		return false
	}
	dr.recovered = true
	dr.to.Recover()
	return true
}

// holdBack lowers the watermark below the events of chunk i, seen as c, which is left to a later
// flush, if there is one. So a process that has read up to the watermark gets them in order.
func (dr *drainer) holdBack(i int, c ctl) {
	if dr.to.Last {
		return
	}
	dr.watermark = min(dr.watermark, max(dr.m.earliest(i, c), 1)-1)
}

// look collects what a LOOP stream has lost since the last look.
func (dr *drainer) look() {
	if n := dr.m.h.losses.Load(); dr.m.Policy != Loop || dr.known == n {
		return
	} else {
		dr.known = n
	}
	dr.m.claimEachLoss(math.MaxUint64, func(first, last uint64) {
		var l loss
		l.add(first, last)
		dr.owe(l)
		dr.losses = append(dr.losses, l)
	})
	slices.SortFunc(dr.losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
}

// owe leaves a loss to the next process that reads or flushes, should this flush fail or be killed. The
// loss is not yet marked as reported. flushMarks.done takes the debt back.
func (dr *drainer) owe(l loss) {
	h := dr.m.h
	if o := h.pendingOverflow.Load(); dr.gap.state() == noGap && (o == 0 || l.first < o) {
		h.pendingOverflow.Store(max(l.first, 1))
	}
	h.gapEnd.Store(max(h.gapEnd.Load(), l.last, 1))
}

// close makes the chunk one to which no writer appends. It returns false if it cannot: the chunk was
// overwritten, or its writer stands still in the middle of an event. A later flush takes it then. In the
// last flush such a chunk is held.
func (dr *drainer) close(it *item) bool {
	m := dr.m
	d := m.at(it.i)
	for {
		c := ctl(d.ctl.Load())
		if c.gen() != it.c.gen() || c.state() < owned || c.state() == leaving {
			dr.awaitClaimer(it.i, c)
			return false
		}
		it.c, it.held = c, false
		if c.state().closed() {
			return !c.busy()
		}
		if it.early = true; !c.busy() {
			m.retire(it.i, c)
			continue
		}
		if time.Now().After(dr.deadline) {
			if dr.recover() {
				continue
			}
			if dr.to.Last {
				it.held = true
				return true
			}
			dr.holdBack(it.i, c)
			if m.Policy != Loop {
				// Its events may be the first after a gap, and stay in the stream. (Under LOOP they
				// may be overwritten, so RESUME must not rely on them.)
				b := make([]byte, min(c.off(), m.ChunkSize))
				snapshot(b, m.bytes(it.i)[:len(b)])
				b = without(b, m.clearedOf(it.i, c))
				dr.busy = append(dr.busy, m.piece(b, it.i, c))
			}
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// awaitClaimer waits until the loss of a chunk that is being overwritten is accounted for: OVERFLOW
// stands before later events. In the last flush it reports the loss in place of a claimer that stands
// still.
func (dr *drainer) awaitClaimer(i int, c ctl) {
	start := time.Now()
	same := func() bool { return c.state() == claiming && ctl(dr.m.at(i).ctl.Load()) == c }
	for same() && time.Since(start) < dr.claims {
		runtime.Gosched()
	}
	dr.claims -= time.Since(start)
	if !same() || dr.recover() && !same() || !dr.to.Last || dr.claimed[i] {
		return
	}
	if _, l := dr.m.unaccounted(i); l.any {
		if dr.claimed == nil {
			dr.claimed = make(map[int]bool)
		}
		dr.claimed[i] = true
		dr.losses = append(dr.losses, l)
		slices.SortFunc(dr.losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
	}
}

// take makes the chunk one that no other process changes, unless it is held.
func (dr *drainer) take(it *item) bool {
	for dr.close(it) {
		dr.look() // losses so far are older
		if it.held {
			return true
		}
		if _, ok := dr.m.at(it.i).ship(it.c, dr.slot); ok {
			return true
		}
	}
	return false
}

// restore gives the room of the chunks that stay in the stream back to its writers.
func (dr *drainer) restore() {
	for _, it := range dr.items {
		if it.early && !it.held {
			dr.m.reopen(it.i, dr.slot, it.c)
		}
	}
}

// send puts some of the chunks, after the marks that belong among them. Chunks that it could not
// put go back to the items.
func (dr *drainer) send(batch []item, first bool) (err error) {
	m := dr.m
	var taken []item
	for _, it := range batch {
		if dr.take(&it) {
			taken = append(taken, it)
		}
	}
	out := outbox{dr: dr, taken: taken, gone: make([]bool, len(taken))}
	defer out.takeBack()
	dr.look()
	pieces := dr.pieces(taken)
	marks := dr.marks(append(slices.Clone(dr.busy), pieces...), first)
	keep, recs, fits := dr.cut(pieces, taken, marks.recs)
	if err := dr.putMarks(marks.recs[:recs]); err != nil {
		return err
	}
	marks.done()
	dr.losses, dr.gap, dr.overflow = dr.losses[:0], marks.gap, 0
	m.h.drained.Store(dr.watermark)
	for i, it := range taken {
		part := kept{size: len(pieces[i].b), count: it.c.count() - m.clearedOf(it.i, it.c), last: pieces[i].max}
		all := part.count
		if !fits && !keep[i].all {
			part = keep[i]
			part.count = min(part.count, all)
		}
		if err = out.put(i, &pieces[i], part, all); err != nil {
			break
		}
	}
	if e := out.commit(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if fits {
		if err := dr.putMarks(marks.last.marks); err != nil {
			return err
		}
	}
	marks.doneLast()
	dr.gap = marks.gap
	return nil
}

// pieces returns the content of the chunks that send has taken.
func (dr *drainer) pieces(taken []item) (pieces []piece) {
	m := dr.m
	for _, it := range taken {
		b := m.bytes(it.i)[:min(it.c.off(), m.ChunkSize)]
		if n := m.clearedOf(it.i, it.c); n > 0 {
			b = without(b, n)
		}
		p := m.piece(b, it.i, it.c)
		dr.newest = max(dr.newest, p.max)
		pieces = append(pieces, p)
	}
	return pieces
}

// marks returns the marks that go with chunks.
func (dr *drainer) marks(chunks []piece, first bool) *flushMarks {
	sure := uint64(math.MaxUint64)
	if dr.state&Running != 0 {
		sure = dr.looked
	}
	for _, it := range dr.items {
		sure = min(sure, it.base-1)
	}
	marks := dr.newMarks(chunks, sure)
	if first {
		marks.flush(dr.start)
	}
	if dr.m.Policy == Loop {
		marks.overwritten(dr.losses)
	} else {
		marks.stopped(dr.state, dr.newest)
	}
	inOrder(marks.recs)
	return marks
}

// putMarks puts marks in blocks no larger than a chunk, which is the limit of the log.
func (dr *drainer) putMarks(marks []chunk.Record) error {
	inOrder(marks)
	for len(marks) > 0 {
		n, size := 0, 0
		for n < len(marks) {
			size += chunk.FullSize + chunk.Align(len(marks[n].Data))
			if n > 0 && size > dr.m.ChunkSize {
				break
			}
			n++
		}
		if _, err := dr.put(markBlock(marks[:n])); err != nil {
			return err
		}
		marks = marks[n:]
	}
	return nil
}
