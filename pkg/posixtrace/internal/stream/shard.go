package stream

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

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

// shard is the state of a chunk that a writer owns. A goroutine holds lock to exchange the
// chunk; the members below it belong to the goroutine that has set the chunk's busy bit. Shards lie
// outside of Go's heap, because the race detector does not see that the control word, which is
// shared memory, orders the accesses.
type shard struct {
	// The number of the chunk and the control word to expect of it, without
	// offset and count. They are one word: a goroutine that read them one after the
	// other, and was interrupted in between, could mistake the chunk of another shard for this one's.
	tag    atomic.Uint64
	lock   atomic.Uint32
	permit atomic.Uint32 // in the header's table, plus one
	epoch  uint32        // counts the chunks; entries of the cache with another epoch are void
	sites  uint32        // defined in this chunk
	_      uint32
	id     uint64         // the upper half of a permit that the shard has; never changes
	base   uint64         // of the deltas
	last   uint64         // tick of the last event
	data   unsafe.Pointer // of the chunk
	keys   uint64         // the next key of a span
	from   uint64         // an address whose mapping needs no note (maps.go),
	span   uint64         // as the next ones, so many
	noted  uint64         // the mappings of which this chunk has a note
	cache  [siteCache]siteEntry

	// Of a shard without a chunk of its own (takeover.go).
	waited atomic.Uint64      // how many events it has recorded since it last looked for a permit; 0: it has one
	entry  atomic.Uint64      // in the header's table of open chunks: where the last event found room
	seen   [maxPermits]uint64 // what it saw in each permit then; protected by lock
	_      [64]byte
}

const shardSize = int(unsafe.Sizeof(shard{}))

func (w *Writer) shard(i int) *shard {
	return (*shard)(unsafe.Add(w.shards, (i&w.mask)*shardSize))
}

// site returns the place of a site in the cache, which may have another one.
func (s *shard) site(addr, who, what uint64) *siteEntry {
	return &s.cache[(addr^bits.RotateLeft64(who, 20)^what<<40)*spread>>(64-siteBits)]
}

// define defines a site, by a record at p, and puts it into the cache.
func (s *shard) define(k *siteEntry, p unsafe.Pointer, addr, who, what uint64) {
	n := s.sites
	s.sites++
	*k = siteEntry{addr: addr, who: who, what: what, num: n}
	store64(p, chunk.Header(n, chunk.SiteSize-chunk.HeaderSize, chunk.KindSite))
	store64(unsafe.Add(p, 8), uint64(uint32(what))|who&^math.MaxUint32)
	store64(unsafe.Add(p, 16), addr)
	store64(unsafe.Add(p, 24), uint64(uint32(who)))
}

// exchange makes sure that the shard's chunk has room for need bytes. It returns false if the shard
// cannot have such a chunk now. tick is the time of the event that needs it, 0 for the present. The
// caller holds the shard's lock.
func (w *Writer) exchange(s *shard, need int, tick uint64) bool {
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
		if d.seize(c) {
			d.last.Store(s.last)
			d.noteEnd(c, int(s.sites))
			w.m.retire(i, c|busyBit)
		}
		return true
	}
	if w.short {
		return false
	}
	if !w.havePermit(s) {
		i, c, took := w.takeOver(s, need)
		if !took {
			storeCount(&s.waited, 1)
			return false
		}
		if c != 0 {
			w.install(s, i, c, tick)
			return true
		}
	}
	i, adopted, got := w.m.claim(w.slot, owned, need)
	if !got {
		return false
	}
	p := &w.m.h.permitTable[s.permit.Load()-1]
	if v := p.Load(); v>>32 != s.id || !p.CompareAndSwap(v, s.id<<32|uint64(i+1)) {
		// Another writer has taken the permit meanwhile.
		if adopted != 0 {
			w.m.park(i, adopted)
		} else {
			w.m.release(i)
		}
		s.permit.Store(0)
		return false
	}
	w.install(s, i, adopted, tick)
	return true
}

// install makes chunk i the shard's: one that is claimed, or one with events, adopted, which is
// busy. tick is the time of the first event, 0 for the present. The caller holds the shard's lock.
func (w *Writer) install(s *shard, i int, adopted ctl, tick uint64) {
	storeCount(&s.waited, 0)
	s.tag.Store(noChunk)
	w.forgetMaps(s)
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
			d.enteredAt.Store(1) // long ago: readers ask whether there are times of a writer's own
		}
		s.tag.Store(uint64(c)&tagMask | uint64(i))
		return
	}
	d.enteredAt.Store(now)
	// The shard's times go on from the chunk's last one, and from a base so old that the next
	// event gives a new one.
	last, sites, known := d.notedEnd(adopted)
	d.sites.Store(0) // not known any more
	d.last.CompareAndSwap(last, 0)
	if !known {
		// They are those of a writer that was about to leave the chunk long ago, and did now.
		last, sites = w.m.findEnd(i, adopted)
	}
	if last > now && w.m.isFuture(last) {
		w.m.h.damage.Add(1)
		last = 0
	}
	s.sites, s.base, s.last = uint32(sites), 0, max(last, next, 1<<32)
	adopted &^= busyBit
	s.tag.Store(uint64(adopted)&tagMask | uint64(i))
	d.letGo(adopted)
}

// havePermit takes one of the permits that bound how many chunks are owned. The
// caller holds the shard's lock.
func (w *Writer) havePermit(s *shard) bool {
	m := w.m
	if p := s.permit.Load(); p != 0 {
		if m.h.permitTable[p-1].Load()>>32 == s.id {
			return true
		}
		s.permit.Store(0) // another writer took it while this one was idle
	}
	for p := range m.Permits {
		if m.vacant(p) && m.h.permitTable[p].CompareAndSwap(0, s.id<<32) {
			s.permit.Store(uint32(p + 1))
			return true
		}
	}
	return false
}

// parkChunk gives up the chunk of a shard. No other goroutine is in the middle of an event there.
func (w *Writer) parkChunk(s *shard) {
	tag := s.tag.Load()
	if tag == noChunk {
		return
	}
	j := int(tag & idxMask)
	for range closeTries {
		d := w.m.at(j)
		c := ctl(d.ctl.Load())
		if (uint64(c)&^busyBit^tag)&tagMask != 0 {
			break
		}
		if c.busy() {
			// A panic has left an event in the middle. Else no method of the writer runs.
			n, ok := d.unseize(c)
			if !ok {
				continue
			}
			c = n
		}
		if w.m.park(j, c) {
			break
		}
	}
}

// endOpen ends the events of the writer in open chunks that a panic has left in the middle. No other method of the
// writer runs.
func (w *Writer) endOpen() {
	m := w.m
	end := func(i int) bool {
		if i < 0 || i >= m.Chunks {
			return false
		}
		d := m.at(i)
		c := ctl(d.ctl.Load())
		if c.state() != open || c.slot() != w.slot {
			return false
		}
		_, ok := d.unseize(c)
		return ok
	}
	for o := range m.OpenChunks {
		end(int(m.replaces(m.h.openTable[o].Load())) - 1)
	}
	for p := range m.Permits {
		if v := m.h.permitTable[p].Load(); v&displaced != 0 && end(int(uint32(v))-1) {
			m.vacant(p)
		}
	}
}
