package stream

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// keyBits is how many keys of spans a shard takes at once, as a power of two.
const keyBits = 20

// keyBlocks counts the blocks of keys that this process has given out, starting at a random
// number: a later process with the same id has other keys.
var keyBlocks atomic.Uint64

// SeedKeys chooses the first key of this process. It makes a system call, which no trace point may.
func SeedKeys() {
	if keyBlocks.Load() == 0 {
		keyBlocks.CompareAndSwap(0, max(sys.Random64()>>(keyBits+1), 1))
	}
}

// NewKey returns a key that no other span of this process has. The key is the first of a block; the
// caller may use the rest of the block.
func NewKey() uint64 { return keyBlocks.Add(1) << keyBits }

// newKey returns a key, for the goroutine that has set the busy bit of the shard's chunk.
func (s *shard) newKey() uint64 {
	if s.keys&(1<<keyBits-1) == 0 {
		s.keys = NewKey()
	}
	s.keys++
	return s.keys - 1
}

// write writes the note of a span, which has size bytes.
func (s *Span) write(p unsafe.Pointer, size int) {
	if size == 0 {
		return
	}
	store64(p, chunk.Header(chunk.SpanNote, size-chunk.HeaderSize, chunk.KindPad))
	store64(unsafe.Add(p, 8), s.Key)
	if size == chunk.NoteSize {
		store64(unsafe.Add(p, 16), s.Parent)
	}
}

// SpanPoint has the type and the thread of an event that starts or ends a span: one word, so that registers
// can pass all arguments of AppendSpan.
type SpanPoint uint64

// MakeSpanPoint returns the SpanPoint of a type and a thread.
func MakeSpanPoint(id event.ID, tid uint32) SpanPoint { return SpanPoint(tid)<<32 | SpanPoint(id) }

// appendSpanRare appends by AppendEvent what AppendSpan leaves to it.
//
//go:noinline
func (w *Writer) appendSpanRare(hint int, at SpanPoint, addr, ticks uint64, span *Span, data []byte) bool {
	e := Event{ID: event.ID(at & math.MaxUint32), TID: uint32(at >> 32), Addr: addr, Ticks: ticks, Span: *span}
	ok := w.AppendEvent(hint, &e, data, true)
	*span = e.Span
	return ok
}

// AppendSpan appends an event, of the writer's own process, that starts or ends a span. A key of 0
// becomes a new one, which AppendSpan stores in span. Like Append, it leaves to AppendEvent whatever is rare.
func (w *Writer) AppendSpan(hint int, at SpanPoint, addr, ticks uint64, span *Span, data []byte) bool {
	h := w.front
	st := h.state.Load()
	if st&(Running|Dead|filterChange) != Running || len(data) > w.quick {
		return w.appendSpanRare(hint, at, addr, ticks, span, data)
	}
	id := event.ID(at & math.MaxUint32)
	if id-1 >= event.Max-1 || h.filter[st/filterB&1][id>>6&(event.Max/64-1)].Load()&(1<<(id&63)) != 0 {
		return false
	}
	size := len(data)
	if size > 0 {
		touch(data)
	}
	// What the processor can do before the exchange does not wait for it.
	key, parent, who := span.Key, span.Parent, Who(w.pid, uint32(at>>32))
	s := w.shard(hint)
	tag := s.tag.Load()
	d := (*desc)(unsafe.Add(w.desc, int(tag&idxMask)*descSize))
	c := ctl(d.ctl.Load())
	if (uint64(c)^tag)&tagMask != 0 || c.off()+chunk.NoteSize+chunk.Overhead+chunk.Align(size) > w.chunk || !d.seize(c) {
		return w.appendSpanRare(hint, at, addr, ticks, span, data)
	}
	now := ticks + h.tickOffset.Load()
	delta := now - s.base
	what := uint64(id) | uint64(s.epoch)<<32
	k := s.site(addr, who, what)
	if now <= h.horizon.Load() || h.state.Load() != st || s.tag.Load() != tag ||
		now < s.last || delta > math.MaxUint32 || k.addr != addr || k.who != who || k.what != what ||
		s.keys&(1<<keyBits-1) == 0 {
		d.letGo(c)
		return w.appendSpanRare(hint, at, addr, ticks, span, data)
	}
	s.last = now
	if key == 0 {
		key = s.keys
		s.keys++
		span.Key = key
	}
	p := unsafe.Add(s.data, c.off())
	note := chunk.NoteSize - 8
	if parent != 0 {
		store64(unsafe.Add(p, 16), parent)
		note = chunk.NoteSize
	}
	store64(p, chunk.Header(chunk.SpanNote, note-chunk.HeaderSize, chunk.KindPad))
	store64(unsafe.Add(p, 8), key)
	p = unsafe.Add(p, note)
	store64(p, chunk.Header(uint32(delta), size, uint16(k.num)))
	copyIn(unsafe.Add(p, chunk.HeaderSize), data)
	d.publish(c, c.off()+note+chunk.HeaderSize+chunk.Align(size))
	return true
}

// AppendEvent appends an event of any kind. span says that it starts or ends a span. A key of 0
// then becomes a new one, which AppendEvent stores in e. It repeats Append, because branches, and
// arguments that go through memory, would slow down all other events.
func (w *Writer) AppendEvent(hint int, e *Event, data []byte, span bool) bool {
	h := w.front
	pid := e.PID
	if pid == 0 {
		pid = w.pid
	}
	overhead := chunk.Overhead
	if span {
		overhead += chunk.NoteSize
	}
	id, who, addr := e.ID, Who(pid, e.TID), e.Addr
	for try := 0; ; try++ {
		st := h.state.Load()
		if st&(Running|Dead|filterChange) != Running {
			if w.refused(e, st, try) {
				return false
			}
			continue
		}
		if id-1 >= event.Max-1 || h.filter[st/filterB&1][id>>6&(event.Max/64-1)].Load()&(1<<(id&63)) != 0 {
			return false
		}
		size := len(data)
		if size > w.max {
			size = w.limit(id, size)
		}
		if size > 0 {
			touch(data[:size])
			if size > pageSize {
				touchAll(data[:size])
			}
		}
		// Before the exchange: the processor would let the clock wait for it (horizon.go).
		now := e.Tick
		if now == 0 {
			if w.ticks {
				if now = e.Ticks; now == 0 {
					now = sys.Ticks()
				}
				now += h.tickOffset.Load()
			} else {
				now = sys.Monotonic()
			}
		}
		s := w.shard(hint)
		tag := s.tag.Load()
		i := int(tag & idxMask)
		d := (*desc)(unsafe.Add(w.desc, i*descSize))
		c := ctl(d.ctl.Load())
		if (uint64(c)^tag)&tagMask != 0 || c.off()+overhead+chunk.Align(size) > w.chunk || !d.seize(c) {
			if span && e.Span.Key == 0 {
				e.Span.Key = NewKey()
			}
			if ok, done := w.slow(s, e, data[:size], size < len(data), try); done {
				return ok
			}
			continue
		}
		if e.Tick != 0 {
			now = min(now, w.m.now())
		} else if now <= h.horizon.Load() {
			now = w.m.afterHorizon()
		}
		if h.state.Load() != st || s.tag.Load() != tag {
			d.letGo(c)
			continue
		}
		if now < s.last {
			now = w.behind(now, s.last, e.Tick != 0)
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
		k := s.site(addr, who, what)
		if k.addr != addr || k.who != who || k.what != what {
			if addr-s.from >= s.span {
				n := w.noteMap(s, d, p, w.chunk-c.off()-overhead-chunk.Align(size), addr)
				p = unsafe.Add(p, n)
				off += n
			}
			s.define(k, p, addr, who, what)
			p = unsafe.Add(p, chunk.SiteSize)
			off += chunk.SiteSize
		}
		note := 0
		if span {
			if e.Span.Key == 0 {
				e.Span.Key = s.newKey()
			}
			note = e.Span.size()
			e.Span.write(p, note)
			p = unsafe.Add(p, note)
		}
		num := uint16(k.num)
		if size < len(data) {
			num |= chunk.Truncated
		}
		store64(p, chunk.Header(uint32(delta), size, num))
		copyIn(unsafe.Add(p, chunk.HeaderSize), data[:size])
		off += note + chunk.HeaderSize + chunk.Align(size)
		d.publish(c, off)
		return true
	}
}
