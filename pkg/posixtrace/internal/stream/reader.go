package stream

import (
	"math"
	"runtime"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// Reader merges the chunks of a stream by time. A consuming reader reports each
// event once and makes room; the caller sees to it that there is one at a time
// (LockReader). Any other reader peeks and changes nothing.
//
// What is parsed is always a private copy, checked to be whole: the memory may be
// overwritten meanwhile by a writer of a LOOP stream, or by anybody.
type Reader struct {
	m       *Mem
	consume bool
	until   uint64 // events up to this tick are reported by the current scan
	cursors []*cursor
	heap    []*cursor
	loss    loss
	pending uint64 // RESUME is due before the first event after this tick
	state   uint64 // flags of the stream when the current scan began
	losses  uint64 // how many losses loss knows of
	owed    uint64 // tick of an OVERFLOW of a stop that is over
	paid    uint64 // the last one of them that was told
	stop    uint64 // the last stop of which STOP was told by this reader, which peeks
	over    uint64 // and of which OVERFLOW was
	clears  uint64 // how often the stream had been cleared
	aside   []byte // the event of a RESUME that was reported before
	flush   uint64 // tick of a FLUSH_STOP that is not yet in the log, of which Preload knows
	last    uint64
	late    uint64
	frozen  bool    // everything was copied by Preload
	held    bool    // see Held
	copies  uint64  // see Copies
	first   *Reader // as it was then
}

type cursor struct {
	i      int
	gen    uint64
	base   uint64
	buf    []byte
	end    int // what lies behind it has come since the chunk was looked at
	loaded bool
	cur    chunk.Cursor
	n      int // events taken from cur
	told   int // events consumed before this reader came
	doubt  int // the number of an event, plus one, that was cleared if it is older than before
	before uint64
	key    uint64 // tick of head, or a lower bound while not loaded
	head   chunk.Record
	dead   bool // ruined
}

// NewReader returns a reader.
func (m *Mem) NewReader(consume bool) *Reader {
	r := &Reader{m: m, consume: consume, cursors: make([]*cursor, m.Chunks), last: m.h.lastTick.Load()}
	if !consume {
		r.pending = m.h.gapEnd.Load()
	}
	return r
}

// margin is how far the clock instruction of a writer may run ahead of its busy
// bit becoming visible.
const margin = 10 * time.Microsecond

// patience is how long a reader waits for a writer that is in the middle of an event.
// Tests change it.
var patience = 5 * time.Millisecond

// claimPatience is how long a reader or a flush waits for a claim, which takes microseconds unless
// the kernel takes the processor from the claimer: among two dozen threads it comes back after
// some 40 ms. Events that are reported before the claim is over are reported before the loss
// of older ones.
func claimPatience() time.Duration { return 10 * patience }

// Held reports, once, whether a scan has waited in vain for a writer in the middle of an
// event. If that one is dead, every scan will, until Recover.
func (r *Reader) Held() bool {
	held := r.held
	r.held = false
	return held
}

// Copies counts how often the reader has copied something: what it reports between two
// copies is as good as the last.
func (r *Reader) Copies() uint64 { return r.copies }

// scan looks at every chunk anew. It reports whether there is anything to report.
func (r *Reader) scan() bool {
	m := r.m
	if r.consume {
		m.fill()
	}
	r.state = m.State()
	r.until = m.now()
	m.reached(r.until)
	for t := time.Now(); time.Since(t) < margin; {
	}
	begun := uint64(math.MaxUint64)
	if r.state&Running != 0 {
		begun = m.now()
	}
	since := time.Time{}
	for range maxPasses {
		if !r.pass(begun, &since) {
			break
		}
		begun = m.now()
	}
	r.look()
	return len(r.heap) > 0
}

// pass looks at every chunk once. Events with times of their own are not younger than the
// scan only because they came later. Those that came after tick begun must not be reported
// before what their writer recorded earlier, in a chunk that was looked at already: of a chunk
// that was begun since, none are, and pass reports that another one is needed if a writer has
// since come from another chunk to an older one.
func (r *Reader) pass(begun uint64, since *time.Time) (again bool) {
	m := r.m
	r.heap = r.heap[:0]
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		for c.busy() || c.state() == claiming {
			// An event older than until may still appear here, or a loss.
			now := time.Now()
			if since.IsZero() {
				*since = now
			}
			waited, limit := now.Sub(*since), patience
			if c.state() == claiming {
				limit = claimPatience()
			}
			if waited > limit {
				r.held = true
				break
			} else if waited > 100*time.Microsecond {
				time.Sleep(50 * time.Microsecond)
			}
			c = ctl(d.ctl.Load())
		}
		if c.state() == free || c.state() == claiming {
			r.cursors[i] = nil
			continue
		}
		k := r.cursors[i]
		if k == nil || k.gen != c.gen() || k.loaded && k.base != d.base.Load() {
			// The base tells generations apart that have come round.
			if c.count() == 0 {
				r.cursors[i] = nil
				continue
			}
			k = &cursor{i: i, gen: c.gen(), key: m.earliest(i, c)}
			r.cursors[i] = k
		}
		rd := readWord(d.read.Load())
		if gone := rd.gen() != c.gen() || rd.frozen() || rd.count() >= c.count(); gone && r.consume {
			// No event has come since; its writer may have left the chunk. Or a writer has just
			// started to overwrite it: account for that loss before reporting later events.
			r.finish(k, c)
			r.emptied(k)
			continue
		} else if gone && !k.loaded {
			r.emptied(k)
			continue
		}
		if k.dead {
			r.skip(k, c)
			continue
		}
		if d.born.Load() > begun && (!k.loaded || k.head.Event == 0) {
			continue
		}
		k.end = m.ChunkSize
		if d.joined.Load() != 0 {
			// Only events with times of their own may be older than what was looked at before.
			k.end = c.off()
		}
		again = again || d.joined.Load() > begun
		if k.loaded && k.head.Event == 0 && !r.load(k) {
			r.emptied(k)
			continue
		}
		r.push(k)
	}
	return again
}

// load brings in what has been published since the last time and decodes the
// next event. It returns false when there is none.
func (r *Reader) load(k *cursor) bool {
	m := r.m
	d := m.at(k.i)
	c := ctl(d.ctl.Load())
	if c.gen() != k.gen || c.state() == claiming || c.state() == free {
		return false
	}
	old, end := len(k.buf), min(c.off(), k.end, m.ChunkSize)
	if end > old {
		if cap(k.buf) < end {
			size := min(max(2*cap(k.buf), end), m.ChunkSize)
			if c.state() == full || c.state() == loose {
				size = end
			}
			b := make([]byte, old, size)
			copy(b, k.buf)
			k.buf = b
		}
		k.buf = k.buf[:end]
		snapshot(k.buf[old:], m.bytes(k.i)[old:end])
		r.copies++
		base := d.base.Load()
		if n := m.afterCopy(d); n.gen() != k.gen || n.state() == claiming {
			k.buf = k.buf[:old]
			return false
		}
		if !k.loaded {
			k.base = base
		}
	}
	if !k.loaded {
		if end == 0 {
			return false
		}
		k.loaded = true
		k.cur.Reset(k.buf, k.base)
		if rd := readWord(d.read.Load()); rd.gen() == k.gen {
			k.told = rd.count()
		}
		for k.n < k.told && r.decode(k) {
		}
		if w := readWord(d.cleared.Load()); w&wasCleared != 0 && w.gen() == k.gen && w.count() >= k.told {
			k.doubt, k.before = w.count()+1, d.clearedAt.Load()
		}
	} else {
		k.cur.Extend(k.buf)
	}
	return r.decode(k)
}

// afterCopy returns the control word as it is once all loads of a copy of its chunk are done. The
// copy is good if the word says that the chunk has not been taken.
//
// A load would not do, because those of the copy may come after it on other processors than x86.
// Nor would a compare-and-swap before it that fails, which orders no earlier load, or an
// exchange of another word, which need not order earlier loads with later ones where it
// is made of two instructions. An addition to the word itself does: it comes before the
// exchange by which the chunk is taken, and then so do the loads before it; or it sees that.
func (m *Mem) afterCopy(d *desc) ctl { return ctl(d.ctl.Add(0)) }

func (r *Reader) decode(k *cursor) bool {
	ok, err := k.cur.Next(&k.head)
	if err != nil {
		k.dead = true
		r.m.h.damage.Add(1)
	}
	if !ok {
		k.head.Event = 0
		return false
	}
	k.n++
	k.key = k.head.Tick
	if k.n == k.doubt && k.head.Tick < k.before {
		if r.consume {
			r.advance(k)
		}
		return r.decode(k)
	}
	return true
}

// skip gives up what is left of a ruined chunk, so that it does not hold up the
// stream: nothing behind the ruin can be decoded.
func (r *Reader) skip(k *cursor, c ctl) {
	if !r.consume {
		return
	}
	d := r.m.at(k.i)
	if w := readWord(d.read.Load()); w.gen() == k.gen && !w.frozen() && w.count() < c.count() &&
		d.read.CompareAndSwap(uint64(w), uint64(w.at(c.count(), c.off()))) {
		r.m.addRuined(c.count() - w.count())
	}
	r.finish(k, c)
}

// finish frees a chunk of which everything has been reported, when nobody
// writes to it.
func (r *Reader) finish(k *cursor, c ctl) {
	if c.state() == open && !c.busy() && !r.m.registered(k.i) && r.m.retire(k.i, c) {
		c = ctl(r.m.at(k.i).ctl.Load())
	}
	if c.state().closed() && !c.busy() {
		r.m.drop(k.i, c)
		r.m.h.loopFull.Store(0)
	}
}

// registered reports whether writers still find open chunk i.
func (m *Mem) registered(i int) bool {
	for o := range m.Opens {
		if m.h.opened[o].Load() == uint64(i+1) {
			return true
		}
	}
	return false
}

// emptied waits until the loss of a chunk that was just overwritten is
// accounted for. A claimer that was killed is left to Recover.
func (r *Reader) emptied(k *cursor) {
	d := r.m.at(k.i)
	for t := time.Now(); time.Since(t) < claimPatience(); {
		if c := ctl(d.ctl.Load()); c.gen() != k.gen || c.state() != claiming {
			return
		}
		runtime.Gosched()
	}
}

// maxScans bounds how often one Next looks at the chunks anew, which somebody may change
// under it all the time.
const maxScans = 64

// Next reports the next event, with marks (OVERFLOW, RESUME, the automatic STOP, FLUSH_STOP)
// where they belong. The data is valid until the next call. It returns false
// when nothing is ready.
func (r *Reader) Next(rec *chunk.Record) bool {
	m := r.m
	scans := 0
	if n := m.h.clears.Load(); r.consume && n != r.clears {
		// Nothing of what we have copied exists any more.
		r.clears = n
		r.heap, r.loss = r.heap[:0], loss{}
		clear(r.cursors)
	}
	if r.announced(rec) {
		return true
	}
	for {
		k := r.top()
		if k == nil || k.key > r.until {
			// Looking again and again makes sense while a LOOP stream is faster than we are.
			if scans++; r.frozen || scans > maxScans || !r.scan() {
				return r.idle(rec)
			}
			k = r.top()
		}
		if !k.loaded {
			if r.load(k) {
				r.down(0)
			} else {
				r.pop()
				r.emptied(k)
			}
			continue
		}
		if k.key > r.until {
			return r.idle(rec)
		}
		if r.flushed(rec, k.key) || r.overflow(rec, k) {
			return true
		}
		var mark chunk.Record
		marked := false
		if r.consume {
			if !r.advance(k) {
				r.cursors[k.i] = nil
				if r.pop(); ctl(m.at(k.i).ctl.Load()).gen() == k.gen {
					r.heap = r.heap[:0] // another reader has taken some of it, and left some
				}
				r.emptied(k)
				continue
			}
			// By now more may be known of what was lost before it.
			marked = r.overflow(&mark, k)
		}
		marked = marked || r.resume(&mark, k)
		if marked && !r.consume {
			*rec = mark
			return true
		}
		*rec = k.head
		if !marked || !m.setAside(rec, r.clears) {
			r.reported(rec)
			marked = false
		}
		if r.decode(k) {
			r.down(0)
		} else if !k.dead && !r.frozen && len(k.buf) < min(k.end, ctl(m.at(k.i).ctl.Load()).off()) && r.load(k) {
			r.down(0)
		} else {
			r.pop()
			r.emptied(k)
			if c := ctl(m.at(k.i).ctl.Load()); r.consume && c.gen() == k.gen {
				if k.dead {
					r.skip(k, c)
				} else if c.count() == k.n {
					r.finish(k, c)
				}
			}
		}
		if marked {
			*rec = mark
		}
		return true
	}
}

// reported notes that the event in rec is the next one reported.
func (r *Reader) reported(rec *chunk.Record) {
	if rec.Event == event.Overflow {
		r.resumeAfter(rec.Tick) // a start has put it here
	}
	if rec.Tick < r.last {
		r.late++
		if r.consume {
			r.m.h.late.Add(1)
		}
	} else {
		r.told(rec.Tick)
	}
}

func (r *Reader) told(tick uint64) {
	r.last = tick
	if r.consume {
		r.m.h.lastTick.Store(tick)
	}
}

// advance notes in the stream that one more event of the chunk is consumed. It
// returns false when the event is not ours to report: overwritten, cleared, or
// reported by another process, which took its turn as the reader.
func (r *Reader) advance(k *cursor) bool {
	d := r.m.at(k.i)
	for {
		w := readWord(d.read.Load())
		if w.gen() != k.gen || w.frozen() || w.count() >= k.n {
			return false
		}
		if d.read.CompareAndSwap(uint64(w), uint64(w.at(k.n, k.cur.Offset()))) {
			return true
		}
	}
}

// idle reports the marks that stand after the last event.
func (r *Reader) idle(rec *chunk.Record) bool {
	if len(r.heap) > 0 && !r.frozen {
		return false // there are events, only too young to be told from those to come
	}
	if r.flushed(rec, math.MaxUint64) || r.stopped(rec) {
		return true
	}
	return r.overflow(rec, nil)
}

// Restartable reports whether a stream that stopped by itself is empty, its
// STOP reported, and is to go on.
func (m *Mem) Restartable() bool {
	if m.State()&(Full|StopReported|NoRestart|LogFull|Dead|Running) != Full|StopReported {
		return false
	}
	for i := range m.Chunks {
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() != free && c.count() > 0 {
			if rd := readWord(d.read.Load()); rd.gen() != c.gen() || rd.count() < c.count() {
				return false
			}
		}
	}
	return true
}

// Restart makes such a stream go on. The caller holds the stream's lock.
func (m *Mem) Restart(w *Writer) {
	if m.Restartable() {
		m.start(w, Event{})
	}
}

// The heap: the cursor with the smallest key on top.

func (r *Reader) top() *cursor {
	if len(r.heap) == 0 {
		return nil
	}
	return r.heap[0]
}

func less(a, b *cursor) bool { return a.key < b.key || a.key == b.key && a.i < b.i }

func (r *Reader) push(k *cursor) {
	r.heap = append(r.heap, k)
	for i := len(r.heap) - 1; i > 0; {
		p := (i - 1) / 2
		if !less(r.heap[i], r.heap[p]) {
			break
		}
		r.heap[i], r.heap[p] = r.heap[p], r.heap[i]
		i = p
	}
}

func (r *Reader) down(i int) {
	h := r.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && less(h[c+1], h[c]) {
			c++
		}
		if !less(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (r *Reader) pop() {
	n := len(r.heap) - 1
	r.heap[0] = r.heap[n]
	r.heap = r.heap[:n]
	r.down(0)
}

// Preload copies everything that can be reported now, so that nothing that
// happens to the stream later changes what a peeking reader reports.
func (r *Reader) Preload() {
	r.aside = r.m.lookAside()
	r.flush = r.m.h.flushStop.Load()
	r.scan()
	for _, k := range r.heap {
		if !k.loaded && !r.load(k) {
			k.key = ^uint64(0)
		}
	}
	var keep []*cursor
	for _, k := range r.heap {
		if k.loaded && k.head.Event != 0 {
			keep = append(keep, k)
		}
	}
	r.heap = r.heap[:0]
	for _, k := range keep {
		r.push(k)
	}
	r.frozen = true
	first := *r
	first.cursors, first.heap = nil, nil
	r.first = &first
}

// Again goes back to the start of what was preloaded.
func (r *Reader) Again() {
	all := r.cursors
	first := r.first
	*r = *first
	r.first, r.cursors = first, all
	for _, k := range all {
		if k == nil || !k.loaded {
			continue
		}
		k.cur.Reset(k.buf, k.base)
		k.n, k.dead = 0, false
		for k.n < k.told && r.decode(k) {
		}
		if r.decode(k) {
			r.push(k)
		}
	}
}

// LockReader makes me, which is not 0, the one who consumes the stream, for the time of
// one read. It waits for another, but not for ever, and takes the place of one that
// dead says is gone.
func (m *Mem) LockReader(me uint64, dead func(uint64) bool) bool {
	deadline := time.Now().Add(patience)
	for !m.h.readLock.CompareAndSwap(0, me) {
		if time.Now().After(deadline) {
			if old := m.h.readLock.Load(); old != 0 && dead(old) && m.h.readLock.CompareAndSwap(old, me) {
				return true
			}
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
	return true
}

// UnlockReader ends what LockReader began.
func (m *Mem) UnlockReader() { m.h.readLock.Store(0) }
