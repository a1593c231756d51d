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

// flusher is the state of one flush.
type flusher struct {
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
	busy      []piece       // copies of chunks whose writers are stopped
	losses    []loss        // not yet reported
	gap       gap           // as the log has it: the header's goes ahead (owe)
	overflow  uint64        // tick of an OVERFLOW that an earlier flush owes, under LOOP; 0: none
	known     uint64        // how many losses there were at the last look
	deadline  time.Time     // of the wait for writers in the middle of an event
	claims    time.Duration // rest of the wait for claims
	recovered bool          // Sink.Recover was called
	claimed   map[int]bool  // chunks that a claimer that is stopped has, whose loss is in losses
}

// item is a chunk that is to go to the log.
type item struct {
	i     int
	c     ctl
	age   uint64
	base  uint64
	early bool // it has room left
	held  bool // its writer is stopped in the middle of an event, and the last flush leaves it the chunk
}

// Flush flushes the stream to a log. It closes every chunk that holds events and hands the
// chunks to to.Put, oldest first, each preceded by the marks that belong before it. A chunk that
// Put has accepted is free again. Flush returns the tick up to which all events are out. If Put
// fails, the rest stays in the stream. The caller holds the stream's lock.
//
// If the log has no room for all events, the newest are lost.
//
// Writers cannot overwrite a chunk while Flush hands it over. Flush therefore takes only some
// chunks of a LOOP stream at a time: the writers always find others, and their events are kept.
//
// A chunk that is busy for longer than patience keeps its events for a later flush. If none follows
// (Sink.Last), Flush puts a copy of them. The control word stays as it is: its writer, which may go on at
// any time, stores the next one without a look at it.
func (m *Mem) Flush(slot uint64, to *Sink) (watermark uint64, err error) {
	fl := &flusher{m: m, slot: slot, to: to, room: to.Room}
	fl.gather()
	defer fl.parkRest()
	size := len(fl.items)
	if m.Policy == Loop && !fl.tight() {
		size = max(2, m.Chunks/4)
	}
	for first := true; first || len(fl.items) > 0; first = false {
		n := min(size, len(fl.items))
		batch := fl.items[:n]
		fl.items = fl.items[n:]
		if err := fl.send(batch, first); err != nil {
			return 0, err
		}
	}
	m.h.lastTick.Store(max(m.h.lastTick.Load(), min(fl.newest, m.time())))
	m.h.loopFull.Store(0)
	if !m.rejects(event.FlushStop) {
		m.stepFlushStop(flushEnds, m.time())
	}
	return fl.watermark, nil
}

// gather closes the chunks to flush.
func (fl *flusher) gather() {
	m := fl.m
	fl.looked = m.time()
	m.raiseHorizon(fl.looked)
	fl.watermark, fl.start = fl.looked, fl.looked
	fl.deadline = time.Now().Add(patience)
	fl.claims = claimPatience()
	// Loaded before the chunks, so that the flush finds all events recorded before a stop.
	fl.state = m.State()
	if fl.state&Full != 0 && m.end == 0 {
		fl.start = m.after(m.stopTick())
	}
	fl.gap, fl.overflow = gap{m.h.gapEnd.Load()}, m.h.pendingOverflow.Load()
	fl.known = ^uint64(0)
	fl.look()
	// A chunk that is started during a pass is left to the next flush: another, older one
	// might be started and overwritten where the pass has looked already.
	start := uint64(math.MaxUint64)
	if fl.state&Running != 0 {
		start = m.now()
	}
	taken := make([]bool, m.Chunks)
	for range maxPasses {
		if !fl.pass(start, taken) {
			break
		}
		start = m.now()
	}
	slices.SortFunc(fl.items, func(a, b item) int { return cmp.Compare(a.age, b.age) })
}

// maxPasses bounds how often a scan or a flush looks at the chunks again because writers have come
// to old ones meanwhile. Each pass of a flush closes those, so there are fewer each time. On a crowded
// machine, with the race detector, 16 were too few now and then: event 202 of a writer came after 349.
const maxPasses = 256

// pass closes the chunks that were started up to tick start and that no pass has taken before. It
// reports whether another pass is needed: a writer that gives its events times of its own has come
// to one of the chunks since. Its event before may be in a chunk that this pass had looked at
// already, and would be flushed later than the events that follow it.
func (fl *flusher) pass(start uint64, taken []bool) (again bool) {
	m := fl.m
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() == claiming {
			fl.awaitClaimer(i, c)
		}
		c = fl.awaitFirst(i, c)
		if taken[i] || c.state() < owned || c.state() == leaving || c.count() == 0 {
			continue
		}
		it := item{i: i, c: c, base: m.earliest(i, c), early: !c.state().closed()}
		if d.startedAt.Load() > start {
			fl.holdBack(i, c)
			continue
		}
		if fl.close(&it) {
			taken[i] = true
			if it.held {
				m.setAge(i) // as if it were closed now
			}
			it.age = m.ages[i].Load()
			fl.items = append(fl.items, it)
			again = again || d.enteredAt.Load() > start
		}
	}
	return again
}

// awaitFirst returns the control word of chunk i. If the chunk is empty and a writer is in
// the middle of its first event, awaitFirst waits for the event, which may be older than the flush.
func (fl *flusher) awaitFirst(i int, c ctl) ctl {
	for c.busy() && c.count() == 0 && (c.state() == owned || c.state() == open) {
		if time.Now().After(fl.deadline) && !fl.recover() {
			fl.holdBack(i, c)
			break
		}
		time.Sleep(20 * time.Microsecond)
		c = ctl(fl.m.at(i).ctl.Load())
	}
	return c
}

// recover releases what dead writers hold, once. It reports whether the flush should look again.
func (fl *flusher) recover() bool {
	if fl.recovered || fl.to.Recover == nil {
		return false
	}
	fl.recovered = true
	fl.to.Recover()
	return true
}

// holdBack lowers the watermark below the events of chunk i, which is left to a later
// flush, if there is one. So a process that has read up to the watermark gets them in order.
func (fl *flusher) holdBack(i int, c ctl) {
	if fl.to.Last {
		return
	}
	fl.watermark = min(fl.watermark, max(fl.m.earliest(i, c), 1)-1)
}

// look collects what a LOOP stream has lost since the last look.
func (fl *flusher) look() {
	if n := fl.m.h.losses.Load(); fl.m.Policy != Loop || fl.known == n {
		return
	} else {
		fl.known = n
	}
	fl.m.claimEachLoss(math.MaxUint64, func(first, last uint64) {
		var l loss
		l.add(first, last)
		fl.owe(l)
		fl.losses = append(fl.losses, l)
	})
	slices.SortFunc(fl.losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
}

// owe leaves a loss to the next process that reads or flushes, should this flush fail or be killed. The
// loss is not yet marked as reported. flushMarks.done takes the debt back.
func (fl *flusher) owe(l loss) {
	h := fl.m.h
	if o := h.pendingOverflow.Load(); fl.gap.state() == noGap && (o == 0 || l.first < o) {
		h.pendingOverflow.Store(max(l.first, 1))
	}
	h.gapEnd.Store(max(h.gapEnd.Load(), l.last, 1))
}

// close makes the chunk one to which no writer appends. It returns false if it cannot: the chunk was
// overwritten, or its writer is stopped in the middle of an event. A later flush takes it then. In the
// last flush such a chunk is held.
func (fl *flusher) close(it *item) bool {
	m := fl.m
	d := m.at(it.i)
	for {
		c := ctl(d.ctl.Load())
		if c.gen() != it.c.gen() || c.state() < owned || c.state() == leaving {
			fl.awaitClaimer(it.i, c)
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
		if time.Now().After(fl.deadline) {
			if fl.recover() {
				continue
			}
			if fl.to.Last {
				it.held = true
				return true
			}
			fl.holdBack(it.i, c)
			if m.Policy != Loop {
				// Its events may be the first after a gap, and stay in the stream. (Under LOOP they
				// may be overwritten, so RESUME must not rely on them.)
				b := make([]byte, min(c.off(), m.ChunkSize))
				snapshot(b, m.bytes(it.i)[:len(b)])
				b = without(b, m.clearedOf(it.i, c))
				fl.busy = append(fl.busy, m.piece(b, it.i, c))
			}
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// awaitClaimer waits until the loss of a chunk that is being overwritten is accounted for: OVERFLOW
// stands before later events. In the last flush it reports the loss in place of a claimer that is
// stopped.
func (fl *flusher) awaitClaimer(i int, c ctl) {
	start := time.Now()
	same := func() bool { return c.state() == claiming && ctl(fl.m.at(i).ctl.Load()) == c }
	for same() && time.Since(start) < fl.claims {
		runtime.Gosched()
	}
	fl.claims -= time.Since(start)
	if !same() || fl.recover() && !same() || !fl.to.Last || fl.claimed[i] {
		return
	}
	if _, l := fl.m.unaccounted(i); l.any {
		if fl.claimed == nil {
			fl.claimed = make(map[int]bool)
		}
		fl.claimed[i] = true
		fl.losses = append(fl.losses, l)
		slices.SortFunc(fl.losses, func(a, b loss) int { return cmp.Compare(a.first, b.first) })
	}
}

// take makes the chunk one that no other process changes, unless it is held.
func (fl *flusher) take(it *item) bool {
	for fl.close(it) {
		fl.look() // losses so far are older
		if it.held {
			return true
		}
		if _, ok := fl.m.at(it.i).ship(it.c, fl.slot); ok {
			return true
		}
	}
	return false
}

// parkRest gives the room of the chunks that stay in the stream back to its writers.
func (fl *flusher) parkRest() {
	for _, it := range fl.items {
		if it.early && !it.held {
			fl.m.parkUnwritten(it.i, fl.slot, it.c)
		}
	}
}

// send puts some of the chunks, after the marks that belong among them. Chunks that it could not
// put go back to the items.
func (fl *flusher) send(batch []item, first bool) (err error) {
	m := fl.m
	var taken []item
	for _, it := range batch {
		if fl.take(&it) {
			taken = append(taken, it)
		}
	}
	out := outbox{fl: fl, taken: taken, gone: make([]bool, len(taken))}
	defer out.takeBack()
	fl.look()
	pieces := fl.pieces(taken)
	marks := fl.marks(append(slices.Clone(fl.busy), pieces...), first)
	keep, recs, fits := fl.cut(pieces, taken, marks.recs)
	if err := fl.putMarks(marks.recs[:recs]); err != nil {
		return err
	}
	marks.done()
	fl.losses, fl.gap, fl.overflow = fl.losses[:0], marks.gap, 0
	m.h.flushedTo.Store(fl.watermark)
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
		if err := fl.putMarks(marks.last.marks); err != nil {
			return err
		}
	}
	marks.doneLast()
	fl.gap = marks.gap
	return nil
}

// pieces returns the content of the chunks that send has taken.
func (fl *flusher) pieces(taken []item) (pieces []piece) {
	m := fl.m
	for _, it := range taken {
		b := m.bytes(it.i)[:min(it.c.off(), m.ChunkSize)]
		if n := m.clearedOf(it.i, it.c); n > 0 {
			b = without(b, n)
		}
		p := m.piece(b, it.i, it.c)
		fl.newest = max(fl.newest, p.max)
		pieces = append(pieces, p)
	}
	return pieces
}

// marks returns the marks that go with chunks.
func (fl *flusher) marks(chunks []piece, first bool) *flushMarks {
	sure := uint64(math.MaxUint64)
	if fl.state&Running != 0 {
		sure = fl.looked
	}
	for _, it := range fl.items {
		sure = min(sure, it.base-1)
	}
	marks := fl.newMarks(chunks, sure)
	if first {
		marks.flush(fl.start)
	}
	if fl.m.Policy == Loop {
		marks.overwritten(fl.losses)
	} else {
		marks.stopped(fl.state, fl.newest)
	}
	inOrder(marks.recs)
	return marks
}

// putMarks puts marks in blocks no larger than a chunk, which is the limit of the log.
func (fl *flusher) putMarks(marks []chunk.Record) error {
	inOrder(marks)
	for len(marks) > 0 {
		n, size := 0, 0
		for n < len(marks) {
			size += chunk.FullSize + chunk.Align(len(marks[n].Data))
			if n > 0 && size > fl.m.ChunkSize {
				break
			}
			n++
		}
		if _, err := fl.put(markBlock(marks[:n])); err != nil {
			return err
		}
		marks = marks[n:]
	}
	return nil
}
