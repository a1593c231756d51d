package stream

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// reserved marks, above a slot, an entry of the table of open chunks that the slot's writer is about
// to fill. Between the two is the chunk to replace, plus one, until its age is set: it may be the stream's
// oldest by its age, and have the newest events. So long it counts as registered.
const (
	reserved      = 1 << 63
	replacedShift = 32
)

// replaces returns the reference to the chunk that an entry of the table has, by its word v, or is about
// to replace, 0 for none.
func (m *Mem) replaces(v uint64) uint64 {
	if v&reserved != 0 {
		v = v &^ reserved >> replacedShift
	}
	if !m.isOpenRef(v) {
		return 0
	}
	return v
}

// RecordSystem appends an event of the trace system itself, also while the stream does not run, and
// stores its time in e. It returns false when there is no room, and does not account for that. An
// event that the filter rejects needs none.
func (w *Writer) RecordSystem(e *Event, data []byte) bool {
	return w.m.rejects(e.ID) || w.force(e, data, nil)
}

// force records a system event that was judged already. at, if not nil, is called when the
// event has its place, and returns its time.
func (w *Writer) force(e *Event, data []byte, at func() uint64) bool {
	for range 100 {
		if ok, done := w.appendOpen(nil, e, data, false, forced, at); done {
			return ok
		}
	}
	return false
}

// forced stands for the number of the try when an event is recorded in any state of the stream.
const forced = -1

// appendOpen appends an event, with all its members, to an open chunk. done is false when the
// state of the stream has changed and the event must be judged again. s is the writer's shard, nil
// for events of the trace system.
func (w *Writer) appendOpen(s *shard, e *Event, data []byte, cut bool, attempt int, at func() uint64) (ok, done bool) {
	force := attempt == forced
	st := uint64(0)
	m := w.m
	note := e.Span.size()
	need := note + chunk.FullSize + chunk.Align(len(data))
	first := w.slot
	if s != nil {
		first = s.entry.Load()
	}
	for b := newBackoff(m, first); b.more(); b.next() {
		st = w.front.state.Load()
		if st&(Running|Dead|filterChange) != Running && !force {
			return false, false
		}
		o := &m.h.openTable[b.index%m.OpenChunks]
		ref := o.Load()
		if w.wantsOpen(ref, &b) {
			if b.try < b.claimAt {
				if b.alone() {
					break
				}
				b.yield()
				continue
			}
			if ref, ok = w.supplyOpen(o, ref, need, force, &b); !ok {
				continue
			}
		}
		if !m.isOpenRef(ref) {
			b.wait()
			continue
		}
		i := int(ref - 1)
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() != open {
			o.CompareAndSwap(ref, 0)
			continue
		}
		if c.busy() {
			b.wait()
			continue
		}
		if c.off()+need > w.chunk {
			if m.retire(i, c) {
				o.CompareAndSwap(ref, 0)
			}
			continue
		}
		tick := m.now() // before the busy bit, as in Append
		if !d.seizeOpen(c, w.slot) {
			if b.try >= b.late() {
				b.pause()
			}
			continue
		}
		if tick <= m.h.horizon.Load() {
			tick = m.afterHorizon()
		}
		if e.Tick != 0 {
			tick = min(tick, e.Tick)
		}
		ok = force || w.front.state.Load() == st && !m.rejects(e.ID)
		if ok {
			if at != nil {
				tick = at()
			}
			tick = w.openTick(s, i, tick)
			if force {
				e.Tick = tick
			}
			off := c.off()
			p := unsafe.Add(w.data, i*w.chunk+off)
			if s != nil && w.maps != nil {
				n := w.noteInOpen(b.index%m.OpenChunks, i, c, p, w.chunk-c.off()-need, e.Addr)
				p = unsafe.Add(p, n)
				off += n
			}
			e.Span.write(p, note)
			writeFull(unsafe.Add(p, note), e, w.pidOf(e, force), tick, data, cut)
			d.publish(c, off+need)
		} else {
			d.letGo(c)
		}
		if o.Load() != ref {
			m.leftDisplaced(i)
		}
		if s != nil {
			storeCount(&s.entry, uint64(b.index%m.OpenChunks))
		}
		return ok, ok
	}
	if force {
		return false, true // the caller accounts for it
	}
	return false, !w.freedSpace(attempt) && w.outOfSpace(e, st)
}

// openTick returns the tick of an event in open chunk i that is to have the time tick. The chunk's
// events stay in order, whichever writers they are from.
func (w *Writer) openTick(s *shard, i int, tick uint64) uint64 {
	d := w.m.at(i)
	if last := d.last.Load(); last > tick {
		if last-tick > farBehind && w.m.isFuture(last) {
			// No event has that time. It must not become the time of all that follow.
			w.m.h.damage.Add(1)
		} else {
			tick = last
		}
	}
	if w.alone && s != nil {
		if w.open != i+1 {
			w.open = i + 1
			d.enteredAt.Store(w.m.now())
		}
		tick = max(tick, s.last+1)
		s.last = tick
	}
	d.last.Store(tick)
	return tick
}

// pidOf returns the process of an event. An event of the trace system may have none.
func (w *Writer) pidOf(e *Event, system bool) uint32 {
	if e.PID == 0 && !system {
		return w.pid
	}
	return e.PID
}

// writeFull writes a record with all members of e.
func writeFull(p unsafe.Pointer, e *Event, pid uint32, tick uint64, data []byte, cut bool) {
	num := uint16(chunk.KindFull)
	if cut {
		num |= chunk.Truncated
	}
	store64(p, chunk.Header(0, len(data), num))
	store64(unsafe.Add(p, 8), tick)
	store64(unsafe.Add(p, 16), uint64(e.ID)|uint64(pid)<<32)
	store64(unsafe.Add(p, 24), uint64(e.TID))
	store64(unsafe.Add(p, 32), e.Addr)
	copyIn(unsafe.Add(p, chunk.FullSize), data)
}

// isOpenRef reports whether ref, from the header's table of open chunks, refers to one.
func (m *Mem) isOpenRef(ref uint64) bool { return ref != 0 && ref <= uint64(m.Chunks) }

// backoff is how a writer that looks for an open chunk makes way for other writers. It looks at the
// entries of the header's table in turn. A few tries are quick; then it gives the processor away
// between them; late, when each writer that runs has had its turn, it sleeps.
type backoff struct {
	openChunks int
	index      int // of the next entry to look at, modulo openChunks
	try        int // a late pause is part of the same try
	claimAt    int // a claim that has failed is not tried again before this try
	inTheWay   int // the last try at which another writer was in the way
	since      time.Time
	urgent     bool // late pauses took longer than patience
}

func newBackoff(m *Mem, first uint64) backoff {
	return backoff{openChunks: m.OpenChunks, index: int(first), inTheWay: -1}
}

func (b *backoff) quick() int { return 4 * b.openChunks }

func (b *backoff) late() int { return 63 * b.openChunks }

func (b *backoff) more() bool { return b.try < b.late()+4*b.openChunks }

func (b *backoff) next() {
	b.index++
	b.try++
}

// alone reports whether there is no writer to wait for: none was in the way at the last tries.
func (b *backoff) alone() bool { return b.try-b.inTheWay > b.openChunks }

// yield gives the processor away, unless the tries are quick.
func (b *backoff) yield() {
	if b.try >= b.quick() {
		runtime.Gosched()
	}
}

// wait pauses for another writer that is in the way.
func (b *backoff) wait() {
	b.inTheWay = b.try
	b.pause()
}

// pause lets others go on.
func (b *backoff) pause() {
	switch {
	case b.try < b.quick():
	case b.try < b.late() || b.urgent:
		runtime.Gosched()
	case b.since.IsZero():
		b.since = time.Now()
		b.try--
	default:
		time.Sleep(20 * time.Microsecond)
		b.urgent = time.Since(b.since) > patience
		b.try--
	}
}

// wantsOpen reports whether an entry of the table, whose word is ref, should get another open chunk: it has
// none, or another writer that was about to put one there is stopped, or its chunk has been busy
// for a while, since the writer does not run.
func (w *Writer) wantsOpen(ref uint64, b *backoff) bool {
	switch {
	case ref&reserved != 0:
		return b.urgent
	case !w.m.isOpenRef(ref):
		return true
	}
	return b.try >= b.late() && w.m.stuck(int(ref-1))
}

// supplyOpen puts another open chunk with room for need bytes into entry o, whose word is ref. It returns
// the reference that the entry has now, and false if supplyOpen found no chunk.
//
// The entry is reserved first, so that several writers do not claim chunks for one entry.
func (w *Writer) supplyOpen(o *atomic.Uint64, ref uint64, need int, force bool, b *backoff) (uint64, bool) {
	m := w.m
	mine := reserved | w.slot
	old := m.replaces(ref)
	if !o.CompareAndSwap(ref, mine|old<<replacedShift) {
		return ref, false
	}
	if old != 0 {
		// No writer finds it any more. So from now on its age is that of its newest event, but for those
		// that are under way.
		m.setAge(int(old - 1))
		if !o.CompareAndSwap(mine|old<<replacedShift, mine) {
			return ref, false
		}
	}
	if m.isOpenRef(ref) {
		if !m.displace(int(ref-1)) && !b.urgent {
			// More writers are stopped in the middle of an event than the stream has
			// room for beside its size. Most go on as soon as they get the
			// processor. If they do not, new events are worth more than old ones.
			o.CompareAndSwap(mine, ref)
			if b.since.IsZero() && !force && w.OnCrowded != nil {
				w.OnCrowded()
			}
			b.pause()
			return ref, false
		}
	}
	i, adopted, got := m.claim(w.slot, open, need)
	if !got {
		if ref&reserved != 0 {
			ref = 0
		}
		o.CompareAndSwap(mine, ref)
		b.claimAt = b.try + 16*b.openChunks
		return ref, false
	}
	if adopted == 0 {
		m.setAge(i) // writers do not find it yet, and it is not the oldest
		m.begin(i, 0, open, m.now())
	} else {
		m.at(i).enteredAt.Store(m.now())
	}
	if !o.CompareAndSwap(mine, uint64(i+1)) {
		if c := ctl(m.at(i).ctl.Load()); c.state() == open && !c.busy() {
			m.park(i, c)
		}
	}
	return o.Load(), true
}
