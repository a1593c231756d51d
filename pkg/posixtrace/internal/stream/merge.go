package stream

import (
	"math"
	"runtime"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// merger merges the events of all chunks by time. It is the part that Reader and Snapshot share.
//
// It parses only private copies that it has checked to be whole: a writer of a LOOP stream may
// overwrite the memory meanwhile, and so may any process that has the file mapped.
type merger struct {
	m        *Mem
	consumer consumer
	cursors  []*cursor // by chunk
	heap     []*cursor // cursors with events, the smallest key on top
	until    uint64    // the last scan reports events up to this tick
	state    uint64    // flags of the stream when it started
	copies   uint64    // how often something was copied from the stream
	maps     bool      // the events have the notes on mappings
	held     bool      // the scan has waited in vain for a writer in the middle of an event
}

// consumer makes the changes in the stream that follow from reporting its events. A Reader makes
// them, a Snapshot makes none.
type consumer interface {
	// advance marks the cursor's event as consumed. It returns false if the event is not there to
	// consume any more.
	advance(k *cursor) bool
	// finish frees a chunk whose events are all reported.
	finish(k *cursor, c ctl)
	// skip gives up the rest of a damaged chunk.
	skip(k *cursor, c ctl)
}

// cursor is the progress in one chunk.
type cursor struct {
	i         int // number of the chunk
	gen       uint64
	base      uint64
	buf       []byte
	seen      int // the scan has seen the events up to this offset
	end       int // events that came since the scan, not to be reported yet, start at this offset
	loaded    bool
	cur       chunk.Cursor
	n         int // events taken from cur
	consumed  int // events that were consumed before the first copy
	doubt     int // number, plus one, of an event that was cleared if its tick is less than clearedAt
	clearedAt uint64
	key       uint64 // tick of head, or a lower bound while not loaded
	head      chunk.Record
	kept      []*chunk.Map // for the next event
	dead      bool         // damaged
}

func newMerger(m *Mem, c consumer) merger {
	return merger{m: m, consumer: c, cursors: make([]*cursor, m.Chunks)}
}

// patience is how long a flush waits for writers in the middle of an event, and writers for each other.
// Tests change it.
var patience = 5 * time.Millisecond

// scanPatience is how long a scan waits for writers in the middle of an event. A writer that loses the
// processor there gets it back after a few turns of others: with 4 writers on 2 processors, up to 26
// events in 7 million were late with 5 ms, 20 with 10 ms, and 2 with 20 ms (BenchmarkLiveOrder).
func scanPatience() time.Duration { return 4 * patience }

// claimPatience is how long a reader or a flush waits for a claim. A claim takes microseconds,
// unless the kernel takes the processor from the claimer: with two dozen threads the claimer runs
// again after some 40 ms, and a control group that has used up its share waits for up to 100 ms.
// Events reported before the claim is over are reported before the loss of older ones.
func claimPatience() time.Duration { return 20 * patience }

// scan looks at every chunk anew, for events up to the present.
func (g *merger) scan() {
	m := g.m
	g.state = m.State()
	g.until = m.now()
	m.raiseHorizon(g.until)
	start := uint64(math.MaxUint64)
	if g.state&Running != 0 {
		start = m.now()
	}
	since := time.Time{}
	for range maxPasses {
		if !g.pass(start, &since) {
			break
		}
		start = m.now()
	}
}

// pass looks at every chunk once and fills the heap. It reports whether another pass is needed.
//
// An event whose writer gives it a time of its own may be older than the scan and yet appear during
// it. Events that appear after tick start must not be reported before events that their writer
// recorded earlier, in a chunk that the pass has already looked at. So pass leaves out chunks that were
// started since, and another pass is needed if a writer has since come from another chunk to an
// older one.
func (g *merger) pass(start uint64, since *time.Time) (again bool) {
	g.heap = g.heap[:0]
	for i := range g.m.Chunks {
		d := g.m.at(i)
		c := g.awaitWriter(d, since)
		k := g.cursorOf(i, d, c)
		if k == nil {
			continue
		}
		if rd := readWord(d.read.Load()); rd.gen() != c.gen() || rd.frozen() || rd.count() >= c.count() {
			// No event has come since; the chunk's writer may have left it. Or a writer has just
			// started to overwrite it: wait for the account of that loss before reporting later events.
			g.consumer.finish(k, c)
			g.emptied(k)
			continue
		}
		if k.dead {
			g.consumer.skip(k, c)
			continue
		}
		if d.startedAt.Load() > start && (!k.loaded || k.head.Event == 0) {
			continue
		}
		k.seen, k.end = c.off(), g.m.ChunkSize
		if d.enteredAt.Load() != 0 {
			// Only events with times of their own may be older than events that the pass has seen.
			k.end = k.seen
		}
		again = again || d.enteredAt.Load() > start
		if k.loaded && k.head.Event == 0 && !g.load(k) {
			g.emptied(k)
			continue
		}
		g.push(k)
	}
	return again
}

// awaitWriter returns the control word of a chunk, after its writer, if it was in the middle of an
// event or a claim, is done. An event older than the scan may still appear there, or a loss. The
// patience is that of the whole scan, from its first wait on, which is stored in since.
func (g *merger) awaitWriter(d *desc, since *time.Time) ctl {
	c := ctl(d.ctl.Load())
	for c.busy() || c.state() == claiming {
		now := time.Now()
		if since.IsZero() {
			*since = now
		}
		waited, limit := now.Sub(*since), scanPatience()
		if c.state() == claiming {
			limit = claimPatience()
		}
		if waited > limit {
			g.held = true
			break
		} else if waited > 100*time.Microsecond {
			time.Sleep(50 * time.Microsecond)
		}
		c = ctl(d.ctl.Load())
	}
	return c
}

// cursorOf returns the cursor of chunk i. It returns nil if the chunk holds no event.
func (g *merger) cursorOf(i int, d *desc, c ctl) *cursor {
	k := g.cursors[i]
	switch {
	case c.state() == free || c.state() == claiming:
		k = nil
	case k == nil || k.gen != c.gen() || k.loaded && k.base != d.base.Load():
		// The base distinguishes generations after their count has wrapped.
		k = nil
		if c.count() > 0 {
			k = &cursor{i: i, gen: c.gen(), key: g.m.earliest(i, c)}
		}
	}
	g.cursors[i] = k
	return k
}

// load copies the events that were published since the last copy and decodes the next one. It
// returns false if there is none.
func (g *merger) load(k *cursor) bool {
	m := g.m
	d := m.at(k.i)
	c := ctl(d.ctl.Load())
	if c.gen() != k.gen || c.state() == claiming || c.state() == free {
		return false
	}
	if d.enteredAt.Load() != 0 {
		k.end = min(k.end, k.seen) // perhaps since the scan
	}
	old, end := len(k.buf), min(c.off(), k.end, m.ChunkSize)
	if end > old {
		if cap(k.buf) < end {
			size := min(max(2*cap(k.buf), end), m.ChunkSize)
			if c.state().closed() {
				size = end
			}
			b := make([]byte, old, size)
			copy(b, k.buf)
			k.buf = b
		}
		k.buf = k.buf[:end]
		snapshot(k.buf[old:], m.bytes(k.i)[old:end])
		g.copies++
		base := d.base.Load()
		if n := d.probe(); n.gen() != k.gen || n.state() == claiming {
			k.buf = k.buf[:old]
			return false
		}
		if !k.loaded {
			k.base = base
		}
	}
	if k.loaded {
		k.cur.Extend(k.buf)
		return g.decode(k)
	}
	if end == 0 {
		return false
	}
	k.loaded = true
	k.cur.Maps = g.maps
	k.cur.Reset(k.buf, k.base)
	if rd := readWord(d.read.Load()); rd.gen() == k.gen {
		k.consumed = rd.count()
	}
	g.skipConsumed(k)
	if w := readWord(d.cleared.Load()); w&wasCleared != 0 && w.gen() == k.gen && w.count() >= k.consumed {
		k.doubt, k.clearedAt = w.count()+1, d.clearedAt.Load()
	}
	return g.decode(k)
}

// skipConsumed decodes the events that were consumed. The first event behind them has their notes on mappings.
func (g *merger) skipConsumed(k *cursor) {
	for k.n < k.consumed && g.decode(k) {
		k.keepMaps()
	}
}

// keepMaps gives the notes on mappings of an event that is not reported to the next one.
func (k *cursor) keepMaps() {
	for p := k.head.Maps; p != nil; p = p.Next {
		k.kept = append(k.kept, p)
	}
}

// decode decodes the next event of the copy. It returns false if there is none.
func (g *merger) decode(k *cursor) bool {
	ok, err := k.cur.Next(&k.head)
	for i := len(k.kept) - 1; ok && i >= 0; i-- {
		k.kept[i].Next = k.head.Maps
		k.head.Maps = k.kept[i]
	}
	k.kept = k.kept[:0]
	if err != nil {
		k.dead = true
		g.m.h.damage.Add(1)
	}
	if !ok {
		k.head.Event = 0
		return false
	}
	k.n++
	if t := k.head.Tick; t > g.until && t-g.until > farBehind && g.m.isFuture(t) {
		// The event would hold back all that follow it in its chunk.
		g.m.h.damage.Add(1)
		k.head.Tick = g.until
	}
	k.key = k.head.Tick
	if k.n == k.doubt && k.head.Tick < k.clearedAt {
		k.keepMaps()
		g.consumer.advance(k)
		return g.decode(k)
	}
	return true
}

// emptied waits until the loss of a chunk that was just overwritten is
// accounted for. A claimer that was killed is left to Recover.
func (g *merger) emptied(k *cursor) {
	d := g.m.at(k.i)
	for t := time.Now(); time.Since(t) < claimPatience(); {
		if c := ctl(d.ctl.Load()); c.gen() != k.gen || c.state() != claiming {
			return
		}
		runtime.Gosched()
	}
}

// The heap.

func (g *merger) top() *cursor {
	if len(g.heap) == 0 {
		return nil
	}
	return g.heap[0]
}

func less(a, b *cursor) bool { return a.key < b.key || a.key == b.key && a.i < b.i }

func (g *merger) push(k *cursor) {
	g.heap = append(g.heap, k)
	for i := len(g.heap) - 1; i > 0; {
		p := (i - 1) / 2
		if !less(g.heap[i], g.heap[p]) {
			break
		}
		g.heap[i], g.heap[p] = g.heap[p], g.heap[i]
		i = p
	}
}

func (g *merger) down(i int) {
	h := g.heap
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

func (g *merger) pop() {
	n := len(g.heap) - 1
	g.heap[0] = g.heap[n]
	g.heap = g.heap[:n]
	g.down(0)
}
