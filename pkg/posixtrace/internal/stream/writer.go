package stream

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Writer appends the events of one process. It has a shard for each processor,
// each with a chunk of its own, so that goroutines that run at the same time do
// not contend. All methods but Close are safe for concurrent use.
type Writer struct {
	m      *Mem
	state  *atomic.Uint64
	shift  *atomic.Uint64
	filter *[2][event.SetWords]atomic.Uint64
	desc   unsafe.Pointer
	data   unsafe.Pointer
	chunk  int // size
	max    int // max-data-size
	pid    uint32
	slot   uint64
	mask   int
	ticks  bool
	shards unsafe.Pointer
	mem    []byte // of the shards

	short bool // it uses open chunks only
	alone bool // see Alone
	open  int  // of a writer that is alone: the open chunk of its last event, plus one

	// OnFull, if set, is called when a stream that does not overwrite has no
	// room. It reports whether it has made some.
	OnFull func() bool
	// OnCrowded, if set, is called when more writers stand still in the middle of an event than
	// the stream has room for. Some may be dead: OnCrowded may call Recover.
	OnCrowded func()
}

// Event is an event to record.
type Event struct {
	ID   event.ID
	PID  uint32 // 0: the process of the writer
	TID  uint32
	Addr uint64
	Tick uint64 // 0: now
	Span Span
}

// Span is the span that an event starts or ends.
type Span struct {
	Key    uint64 // 0: none
	Parent uint64 // key of the enclosing span, 0: none
}

// size returns the size of the note in front of the event.
func (s *Span) size() int {
	switch {
	case s.Key == 0:
		return 0
	case s.Parent == 0:
		return chunk.NoteSize - 8
	}
	return chunk.NoteSize
}

// Fibonacci hashing: the cache is indexed with the top bits of a product with spread.
const (
	siteBits  = 6
	siteCache = 1 << siteBits
	spread    = 0x9e3779b97f4a7c15
)

// siteEntry is a site: a trace point, event type and thread that has a number in the chunk.
type siteEntry struct {
	addr uint64
	who  uint64 // pid and tid, as in Who
	what uint64 // type and epoch
	num  uint32
	_    uint32
}

// Who packs a process and a thread.
func Who(pid, tid uint32) uint64 { return uint64(pid) | uint64(tid)<<32 }

// shard is the state of a chunk that a writer owns. A goroutine holds lock to exchange the
// chunk; the members below it belong to the goroutine that has set the chunk's busy bit. Shards lie
// outside of Go's heap, because the race detector does not see that the control word, which is
// shared memory, orders the accesses.
type shard struct {
	// The number of the chunk and the control word to expect of it, without
	// offset and count. They are one word: a goroutine that read them one after the
	// other, and was interrupted in between, could mistake the chunk of another shard for this one's.
	tag   atomic.Uint64
	lock  atomic.Uint32
	place atomic.Uint32 // in the header's table, plus one
	epoch uint32        // counts the chunks; entries of the cache with another epoch are void
	sites uint32        // defined in this chunk
	_     uint32
	base  uint64         // of the deltas
	last  uint64         // tick of the last event
	data  unsafe.Pointer // of the chunk
	keys  uint64         // the next key of a span
	cache [siteCache]siteEntry
	_     [64]byte
}

const shardSize = int(unsafe.Sizeof(shard{}))

// NewWriter makes a writer for the process whose slot it is (TakeSlot), with
// shards for n processors.
func (m *Mem) NewWriter(slot uint64, pid uint32, n int) (*Writer, error) {
	p := 1
	for p < n {
		p *= 2
	}
	w := &Writer{
		m: m, state: &m.h.state, shift: &m.h.shift, filter: &m.h.filter, desc: m.desc, data: m.data,
		chunk: m.ChunkSize, max: m.MaxData, pid: pid, slot: slot, mask: p - 1, ticks: m.Clock == ClockTicks,
	}
	if m.private {
		w.shards = unsafe.Pointer(&make([]shard, p)[0])
	} else {
		b, err := sys.MapAnon(p * shardSize)
		if err != nil {
			return nil, err
		}
		w.mem = b
		w.shards = unsafe.Pointer(&b[0])
	}
	for i := range p {
		w.shard(i).tag.Store(noChunk)
		w.shard(i).data = m.data // a hostile process may write a control word that matches
	}
	return w, nil
}

func (w *Writer) shard(i int) *shard {
	return (*shard)(unsafe.Add(w.shards, (i&w.mask)*shardSize))
}

// Short makes the writer use open chunks only, as suits one that is soon closed.
func (w *Writer) Short() { w.short = true }

// Alone makes the events of a writer with one shard, which one goroutine uses, keep their order
// whatever times it gives them: its events in a chunk are later than those in its chunk before.
func (w *Writer) Alone() { w.alone = true }

// PID returns the process of the writer.
func (w *Writer) PID() uint32 { return w.pid }

// Slot returns the writer's slot.
func (w *Writer) Slot() uint64 { return w.slot }

// Wants reports whether Record would do anything with an event of type id, which must be valid.
func (w *Writer) Wants(id event.ID) bool {
	st := w.state.Load()
	return st&(Running|Full|LogFull) != 0 && w.filter[st/second&1][int(id>>6)&(event.SetWords-1)].Load()&(1<<(id&63)) == 0
}

// Record is Append for an event as a whole.
func (w *Writer) Record(hint int, e *Event, data []byte) bool {
	if e.Span.Key != 0 {
		return w.AppendSpan(hint, e, data)
	}
	pid := e.PID
	if pid == 0 {
		pid = w.pid
	}
	return w.Append(hint, e.ID, Who(pid, e.TID), e.Addr, e.Tick, data)
}

// Append appends an event if the stream runs and does not reject its type. hint is the
// number of the processor, if known; tick the time, 0 for now. It reports whether the event
// was recorded; an event for which there was no room is counted as lost.
//
// Append is the cost of a trace point. Its arguments are as many as registers can pass.
func (w *Writer) Append(hint int, id event.ID, who, addr, tick uint64, data []byte) bool {
	for try := 0; ; try++ {
		st := w.state.Load()
		if st&(Running|Dead|turning) != Running {
			if w.refused(&Event{ID: id, Tick: tick}, st, try) {
				return false
			}
			continue
		}
		if id-1 >= event.Max-1 || w.filter[st/second&1][id>>6&(event.Max/64-1)].Load()&(1<<(id&63)) != 0 {
			return false
		}
		size := len(data)
		if size > w.max {
			size = w.limit(id, size)
		}
		if size > 0 {
			touch(data[:size])
		}
		s := w.shard(hint)
		tag := s.tag.Load()
		i := int(tag & idxMask)
		d := (*desc)(unsafe.Add(w.desc, i*descSize))
		c := ctl(d.ctl.Load())
		if (uint64(c)^tag)&tagMask != 0 || c.off()+chunk.Overhead+chunk.Align(size) > w.chunk ||
			!d.ctl.CompareAndSwap(uint64(c), uint64(c|busyBit)) {
			e := Event{ID: id, PID: uint32(who), TID: uint32(who >> 32), Addr: addr, Tick: tick}
			if ok, done := w.slow(s, &e, data[:size], size < len(data), try); done {
				return ok
			}
			continue
		}
		now := tick
		if now == 0 {
			if w.ticks {
				now = sys.Ticks() + w.shift.Load()
			} else {
				now = sys.Monotonic()
			}
		} else {
			// An event of the future would hold back all that come after it.
			now = min(now, w.m.now())
		}
		if w.state.Load() != st {
			// The state has changed between its load and the busy bit: an event judged by the old
			// state must not follow the change.
			publish(&d.ctl, c)
			continue
		}
		if now < s.last {
			now = w.behind(now, s.last, tick != 0)
		}
		s.last = now
		off := c.off()
		p := unsafe.Add(s.data, off)
		delta := now - s.base
		if delta > math.MaxUint32 {
			store64(p, chunk.Header(0, 8, chunk.KindBase))
			store64(unsafe.Add(p, 8), now)
			p = unsafe.Add(p, chunk.BaseSize)
			off += chunk.BaseSize
			s.base, delta = now, 0
		}
		what := uint64(id) | uint64(s.epoch)<<32
		k := &s.cache[(addr^bits.RotateLeft64(who, 20)^what<<40)*spread>>(64-siteBits)]
		if k.addr != addr || k.who != who || k.what != what {
			n := s.sites
			s.sites++
			*k = siteEntry{addr: addr, who: who, what: what, num: n}
			store64(p, chunk.Header(n, chunk.SiteSize-chunk.HeaderSize, chunk.KindSite))
			store64(unsafe.Add(p, 8), uint64(id)|who&^math.MaxUint32)
			store64(unsafe.Add(p, 16), addr)
			store64(unsafe.Add(p, 24), uint64(uint32(who)))
			p = unsafe.Add(p, chunk.SiteSize)
			off += chunk.SiteSize
		}
		num := uint16(k.num)
		if size < len(data) {
			num |= chunk.Truncated
		}
		store64(p, chunk.Header(uint32(delta), size, num))
		copyIn(unsafe.Add(p, chunk.HeaderSize), data[:size])
		off += chunk.HeaderSize + chunk.Align(size)
		publish(&d.ctl, c&^offMask+1<<countShift|ctl(off/8))
		return true
	}
}

// limit returns how much Append records of n bytes of data, more than max-data-size.
func (w *Writer) limit(id event.ID, n int) int {
	if !id.User() && id < event.ProcFork {
		return min(n, MaxSystemData) // POSIX's own are never cut
	}
	return w.max
}

// refused is what Append does when the stream does not run. It returns false
// when another try is worth it.
func (w *Writer) refused(e *Event, st uint64, try int) bool {
	if st&turning != 0 {
		w.m.fixTurn()
		return false
	}
	switch st & (Full | LogFull | Dead | NoRestart) {
	case Full:
	case LogFull:
		// No call has stopped the stream, so this is a loss.
		if e.ID.Valid() && !w.m.rejects(e.ID) {
			w.m.addLost(w.m.now())
		}
		return true
	default:
		return true
	}
	return !w.madeRoom(try) && w.noRoom(e, st)
}

// madeRoom calls OnFull, a bounded number of times: other writers may be faster to take the room.
func (w *Writer) madeRoom(try int) bool { return w.OnFull != nil && try < 16 && w.OnFull() }

// slow is what Append does when the shard's chunk cannot take the event. done
// is false when another try with the shard is worth it.
func (w *Writer) slow(s *shard, e *Event, data []byte, cut bool, try int) (ok, done bool) {
	if try > 8 || !s.lock.CompareAndSwap(0, 1) {
		if w.alone {
			w.leaveChunk(s) // later events must not come before this one
		}
		return w.appendOpen(s, e, data, cut, try, nil)
	}
	need := chunk.Overhead + chunk.Align(len(data))
	if e.Span.Key != 0 {
		need += chunk.NoteSize
	}
	usable := w.renew(s, need, e.Tick)
	s.lock.Store(0)
	if usable {
		return false, false
	}
	return w.appendOpen(s, e, data, cut, try, nil)
}

// renew makes sure that the shard's chunk has room for need bytes. It returns false if the shard
// cannot have such a chunk now. tick is the time of the event that needs it, 0 for the present. The
// caller holds the shard's lock.
func (w *Writer) renew(s *shard, need int, tick uint64) bool {
	tag := s.tag.Load()
	i := int(tag & idxMask)
	d := w.m.at(i)
	c := ctl(d.ctl.Load())
	switch {
	case (uint64(c)&^busyBit^tag)&tagMask != 0:
		// A flush has closed it, or the shard never had one.
	case c.busy():
		return false // a goroutine was interrupted in the middle of an event; do not wait for it
	case c.off()+need <= w.chunk:
		return true // it was only a collision
	default:
		// The busy bit protects s.last, and keeps others from appending behind it.
		if b := c | busyBit; d.ctl.CompareAndSwap(uint64(c), uint64(b)) {
			d.last.Store(s.last)
			w.m.retire(i, b)
		}
		return true
	}
	if w.short || !w.havePlace(s) {
		return false
	}
	i, adopted, got := w.m.claim(w.slot, owned, need)
	if !got {
		return false
	}
	p := &w.m.h.placed[s.place.Load()-1]
	if v := p.Load(); v>>32 != w.slot || !p.CompareAndSwap(v, w.slot<<32|uint64(i+1)) {
		// Another writer has taken the place meanwhile.
		if adopted != 0 {
			w.m.leavePartial(i, adopted)
		} else {
			w.m.release(i)
		}
		s.place.Store(0)
		return false
	}
	w.install(s, i, adopted, tick)
	return true
}

// install makes chunk i the shard's: one that is claimed, or one with events, adopted. tick is the
// time of the first event, 0 for the present. The caller holds the shard's lock.
func (w *Writer) install(s *shard, i int, adopted ctl, tick uint64) {
	s.tag.Store(noChunk)
	s.data = unsafe.Add(w.data, i*w.chunk)
	if s.epoch++; s.epoch == 0 {
		// The count wraps: entries of earlier chunks must not be found.
		clear(s.cache[:])
		s.epoch = 1
	}
	for j := range w.mask + 1 {
		// Generations wrap, too: a shard that had this chunk long ago may know it by the same tag.
		if t := w.shard(j).tag.Load(); t != noChunk && int(t&idxMask) == i {
			w.shard(j).tag.CompareAndSwap(t, noChunk)
		}
	}
	if w.alone {
		w.open = 0
	}
	// Events of the chunk before stand before those of this one, also if the clock
	// has not moved on, or gives an older time.
	now := w.m.now()
	next := min(s.last, now+skew) + 1 // bounded, because a damaged stream may say anything
	d := w.m.at(i)
	if adopted == 0 {
		base := now
		if tick != 0 {
			base = min(base, tick)
		}
		base = max(base, next)
		s.sites, s.base, s.last = 0, base, base
		c := w.m.begin(i, w.slot, owned, base)
		if w.alone {
			d.joined.Store(1) // long ago: readers ask whether there are times of a writer's own
		}
		s.tag.Store(uint64(c)&tagMask | uint64(i))
		return
	}
	d.joined.Store(now)
	// The shard's times go on from the chunk's last one, and from a base so old that the next
	// event gives a new one. A flush may have closed the chunk already.
	last, sites := d.last.Load(), readWord(d.sites.Load())
	d.last.CompareAndSwap(last, 0) // not known any more
	if n := sites.count(); sites != makeRead(adopted.gen()).at(n, adopted.off()) {
		// The sites are those of a writer that was about to leave the chunk long ago, and did now.
		last, n = w.m.ending(i, adopted)
		sites = sites.at(n, 0)
	}
	s.sites, s.base, s.last = uint32(sites.count()), 0, max(last, next, 1<<32)
	s.tag.Store(uint64(adopted)&tagMask | uint64(i))
}

// havePlace takes one of the places that bound how many chunks are owned. The
// caller holds the shard's lock.
func (w *Writer) havePlace(s *shard) bool {
	m := w.m
	if p := s.place.Load(); p != 0 {
		if m.h.placed[p-1].Load()>>32 == w.slot {
			return true
		}
		s.place.Store(0) // another writer took it while this one was idle
	}
	for p := range m.Places {
		if m.vacant(p) && m.h.placed[p].CompareAndSwap(0, w.slot<<32) {
			s.place.Store(uint32(p + 1))
			return true
		}
	}
	return false
}

// reserved marks, above a slot, an entry of the table of open chunks that the slot's writer is about
// to fill.
const reserved = 1 << 63

// RecordSystem appends an event of the trace system itself, also while the stream does not run. It
// returns false when there is no room, and does not account for that. An event that the filter
// rejects needs none.
func (w *Writer) RecordSystem(e *Event, data []byte) bool {
	return w.m.rejects(e.ID) || w.force(e, data, nil)
}

// force is RecordSystem for an event that was judged already. at, if not nil, is called when the
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
	for b := newBackoff(m, w.slot); b.more(); b.next() {
		st = w.state.Load()
		if st&(Running|Dead|turning) != Running && !force {
			return false, false
		}
		o := &m.h.opened[b.index%m.Opens]
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
		if !d.ctl.CompareAndSwap(uint64(c), uint64(c|busyBit|ctl(w.slot<<slotShift))) {
			if b.try >= b.late() {
				b.pause()
			}
			continue
		}
		tick := m.now()
		if e.Tick != 0 {
			tick = min(tick, e.Tick)
		}
		ok = force || w.state.Load() == st && !m.rejects(e.ID)
		if ok {
			if at != nil {
				tick = at()
			}
			tick = w.openTick(s, i, tick)
			p := unsafe.Add(w.data, i*w.chunk+c.off())
			e.Span.write(p, note)
			writeFull(unsafe.Add(p, note), e, w.pidOf(e, force), tick, data, cut)
			c = c&^offMask + 1<<countShift | ctl((c.off()+need)/8)
		}
		publish(&d.ctl, c)
		if o.Load() != ref {
			m.backFrom(i)
		}
		return ok, ok
	}
	if force {
		return false, true // the caller accounts for it
	}
	return false, !w.madeRoom(attempt) && w.noRoom(e, st)
}

// openTick returns the tick of an event in open chunk i that is to have the time tick. The chunk's
// events stay in order, whichever writers they are from.
func (w *Writer) openTick(s *shard, i int, tick uint64) uint64 {
	d := w.m.at(i)
	tick = max(tick, d.last.Load())
	if w.alone && s != nil {
		if w.open != i+1 {
			w.open = i + 1
			d.joined.Store(w.m.now())
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

// noRoom accounts for an event that was generated and is lost. Under the policies that do not
// overwrite, the stream stops. st is the state under which there was no room: if a call has stopped
// the stream meanwhile, no event was generated; if the stream was restarted, done is false and
// another try is worth it.
func (w *Writer) noRoom(e *Event, st uint64) (done bool) {
	return !e.ID.Valid() || w.m.rejects(e.ID) || w.overrun(e, st)
}

// overrun is noRoom for an event that was judged already.
func (w *Writer) overrun(e *Event, st uint64) (done bool) {
	m := w.m
	now := m.now()
	if e.Tick != 0 {
		now = min(now, e.Tick)
	}
	if m.Policy == Loop {
		m.addLost(now)
		return true
	}
	for {
		// In this order: if the stream is started after this load of its state, the account has
		// changed.
		a := m.account(m.h.state.Load())
		l := a.lost.Load()
		cur := m.h.state.Load()
		if m.account(cur) != a {
			continue
		}
		if cur&Running != 0 {
			if cur != st {
				return false
			}
			if !m.h.state.CompareAndSwap(st, st&^(Running|StopReported|NoRestart)|Full+stateGen) {
				continue
			}
			m.h.autoStop.Store(m.now() + skew)
		} else if stopped := cur & (Full | Dead | LogFull | NoRestart); stopped == LogFull {
			m.addLost(now) // as refused does
			return true
		} else if stopped != Full {
			return true // a call has stopped it
		}
		if m.addLostIf(a, l, now) {
			return true
		}
	}
}

// closeTries bounds how often Close tries to leave a chunk that a hostile process keeps changing.
const closeTries = 100

// Close gives up the writer's chunks and places. No other method may be running.
func (w *Writer) Close() {
	for i := range w.mask + 1 {
		s := w.shard(i)
		w.leaveChunk(s)
		if p := s.place.Load(); p != 0 {
			q := &w.m.h.placed[p-1]
			if v := q.Load(); v>>32 == w.slot {
				q.CompareAndSwap(v, 0)
			}
		}
	}
	if w.mem != nil {
		sys.Unmap(w.mem)
		w.mem = nil
	}
}

// leaveChunk gives up the chunk of a shard.
func (w *Writer) leaveChunk(s *shard) {
	tag := s.tag.Load()
	if tag == noChunk {
		return
	}
	j := int(tag & idxMask)
	for range closeTries {
		c := ctl(w.m.at(j).ctl.Load())
		if (uint64(c)^tag)&tagMask != 0 || w.m.leavePartial(j, c) {
			break
		}
	}
}
